//! libhurray as others find it: installed into a folder, built against by pkg-config and CMake,
//! run under Valgrind.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, install, metadata, run};

const PROGRAMS: &str = "crates/hurray-capi/tests/c";
const PROJECT: &str = "crates/hurray-capi/tests/cmake";

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
