//! libhurray as others find it: installed into a folder, built against by pkg-config and CMake,
//! run under Valgrind; and installed as the guide says.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, install, metadata, run};

const PROGRAMS: &str = "crates/hurray-capi/tests/c";
const PROJECT: &str = "crates/hurray-capi/tests/cmake";
const GUIDE: &str = "docs/guide/c.md";

/// What the checks need beside a compiler; in Debian the packages have the same names.
const TOOLS: &[&str] = &["pkg-config", "cmake", "valgrind"];

/// Runs what can be run here; says what could not, and how to install what it takes.
pub(crate) fn check() -> Outcome<Option<String>> {
    let has = |tool: &str| {
        let output = run::keep(Command::new(tool).arg("--version"));
        output.is_ok_and(|output| output.status.success())
    };
    let (present, missing): (Vec<&str>, Vec<&str>) = TOOLS.iter().partition(|tool| has(tool));

    let scratch = metadata::read()?.target_directory.join("capi");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    let prefix = scratch.join("prefix");
    install::install(&prefix, install::Profile::Debug)?;
    if present.contains(&"pkg-config") {
        for (program, kind) in with_pkg_config(&prefix, &scratch)? {
            // Of the same code once is enough.
            let valgrind = kind == "shared" && present.contains(&"valgrind");
            run_program(&program, &prefix, &scratch, valgrind)?;
        }
        as_the_guide_says(&scratch)?;
    }
    if present.contains(&"cmake") {
        with_cmake(&prefix, &scratch)?;
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let names = missing.join(" ");
    Ok(Some(format!("only in part: without {names}; as root: apt-get install {names}")))
}

/// Every test program, linked with the shared library and with the static one.
fn with_pkg_config(prefix: &Path, scratch: &Path) -> Outcome<Vec<(PathBuf, &'static str)>> {
    let mut programs = Vec::new();
    for (kind, extra) in [("shared", &[][..]), ("static", &["--static"])] {
        let mut ask = Command::new("pkg-config");
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(extra);
        let output = run::keep(ask.args(["--cflags", "--libs", "hurray"]))?;
        if !output.status.success() {
            return Err(format!("pkg-config: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let flags = String::from_utf8(output.stdout)?;
        for source in sources()? {
            let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let program = scratch.join(format!("{stem}-{kind}"));
            let mut compile = Command::new("cc");
            compile.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-g", "-O1", "-pthread", "-o"]);
            compile.arg(&program).arg(&source);
            // What pkg-config says, but that the library itself is named by its file where it is
            // to be the static one: a linker prefers the shared one.
            let library = prefix.join("lib/libhurray.a");
            compile.args(flags.split_whitespace().map(|flag| match (flag, kind) {
                ("-lhurray", "static") => library.as_os_str(),
                _ => OsStr::new(flag),
            }));
            run::show(&mut compile)?;
            programs.push((program, kind));
        }
    }
    Ok(programs)
}

/// The test programs that are whole: one is a template, which its own test fills.
fn sources() -> Outcome<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(run::root().join(PROGRAMS))? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|extension| extension == "c");
        if is_source && !run::read(&path)?.contains("/* CALLS */") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

fn run_program(program: &Path, prefix: &Path, scratch: &Path, valgrind: bool) -> Outcome {
    let folder = scratch.join("work");
    fs::create_dir_all(&folder)?;
    let mut command = match valgrind {
        false => Command::new(program),
        true => {
            let mut command = Command::new("valgrind");
            // What Rust's standard library keeps for a thread is "possibly lost".
            command.args(["--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
            command.args(["--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]);
            command.arg(program);
            command
        }
    };
    let answer = run::show(command.arg(&folder).env("LD_LIBRARY_PATH", prefix.join("lib")));
    fs::remove_dir_all(&folder)?;
    answer
}

/// A project that finds the library by `find_package`.
fn with_cmake(prefix: &Path, scratch: &Path) -> Outcome {
    let (project, build) = (run::root().join(PROJECT), scratch.join("cmake"));
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(project).arg("-B").arg(&build);
    run::show(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    run::show(Command::new("cmake").arg("--build").arg(&build))?;
    for program in ["with-shared", "with-static"] {
        run::show(&mut Command::new(build.join(program)))?;
    }
    Ok(())
}

/// The guide's commands, in a checkout, by somebody whose home is empty and who saved its first
/// program as `program.c`.
fn as_the_guide_says(scratch: &Path) -> Outcome {
    let page = run::read(&run::root().join(GUIDE))?;
    let (commands, program) = (block(&page, "sh")?, block(&page, "c")?);
    let (home, folder) = (scratch.join("home"), scratch.join("guide"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("program.c"), program)?;
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", commands]).current_dir(&folder).env("HOME", &home);
    // Cargo and rustup are where they were.
    let at_home = env::home_dir().ok_or("no home folder")?;
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        shell.env(name, env::var_os(name).unwrap_or_else(|| at_home.join(usual).into()));
    }
    run::show(&mut shell)?;
    match folder.join("program").is_file() {
        true => Ok(()),
        false => Err(format!("{GUIDE}: its commands made no program").into()),
    }
}

/// What stands between the first fences of a language.
fn block<'a>(page: &'a str, language: &str) -> Outcome<&'a str> {
    let fence = format!("\n```{language}\n");
    let (_, rest) = page.split_once(&fence).ok_or_else(|| format!("{GUIDE}: no {language}"))?;
    let (text, _) = rest.split_once("\n```").ok_or_else(|| format!("{GUIDE}: not ended"))?;
    Ok(text)
}
