//! The examples that must not compile fail by the errors that they name.
//!
//! rustdoc compares those codes only where it takes itself for a nightly one. If cargo were told
//! so, it would build everything once more, and with it what build scripts do on a nightly
//! compiler. So rustdoc alone is told, by a program in its place, which is this one: examples are
//! compiled against what every other test uses.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use crate::{Outcome, metadata, run, tracked};

/// Set where this program stands in for rustdoc: what rustdoc really is.
const STANDS_FOR: &str = "XTASK_STANDS_FOR_RUSTDOC";

/// Runs all of them, and makes sure that all were compared.
pub(crate) fn check() -> Outcome {
    let scratch = metadata::read()?.target_directory.join("forbidden");
    fs::create_dir_all(&scratch)?;
    wrong_codes_are_found_out(&scratch)?;
    let stand_in = copy_of_this(&scratch)?;
    for (package, files) in in_packages()? {
        let mut command = run::cargo(&["test", "--package", &package, "--doc", "--"]);
        command.args(files.keys()).env("RUSTDOC", &stand_in).env(STANDS_FOR, rustdoc());
        run::announce(&command);
        let output = run::keep(command.stderr(Stdio::inherit()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        print!("{printed}");
        if !output.status.success() {
            return Err(format!("examples of {package} ended with {}", output.status).into());
        }
        all_failed(&files, &printed)?;
    }
    Ok(())
}

/// This program, where it stays: whoever tests the workspace builds it anew meanwhile.
fn copy_of_this(folder: &Path) -> Outcome<PathBuf> {
    // On Linux this is the program that runs, also where another took its place.
    let running = Path::new("/proc/self/exe");
    let program = if running.exists() { running.to_owned() } else { env::current_exe()? };
    let copy = folder.join(format!("stand-in{}", env::consts::EXE_SUFFIX));
    fs::copy(&program, &copy).map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(copy)
}

/// What rustdoc really is, where this program was called in its place.
pub(crate) fn stands_for() -> Option<OsString> {
    env::var_os(STANDS_FOR)
}

/// Does what `rustdoc` would, and compares codes.
pub(crate) fn as_rustdoc(rustdoc: &OsStr) -> Outcome<ExitCode> {
    let status = comparing(rustdoc).args(env::args_os().skip(1)).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn rustdoc() -> OsString {
    env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into())
}

fn comparing(rustdoc: &OsStr) -> Command {
    let mut command = Command::new(rustdoc);
    command.env("RUSTC_BOOTSTRAP", "1").env_remove(STANDS_FOR);
    command
}

/// That this rustdoc compares them at all: the same example passes by its own code, and by no
/// other.
fn wrong_codes_are_found_out(scratch: &Path) -> Outcome {
    for (name, code, passes) in [("right", "E0308", true), ("wrong", "E0382", false)] {
        let source = scratch.join(name).with_extension("rs");
        let example = "let number: u8 = \"text\";";
        fs::write(&source, format!("//! ```compile_fail,{code}\n//! {example}\n//! ```\n"))?;
        let mut command = comparing(&rustdoc());
        // In the folder itself, since rustdoc splits its path at spaces.
        command.args(["--test", "--edition", "2024"]).arg(format!("{name}.rs"));
        let output = run::keep(command.current_dir(scratch))?;
        if output.status.success() != passes {
            let printed = String::from_utf8_lossy(&output.stdout);
            return Err(format!("rustdoc does not compare codes of errors:\n{printed}").into());
        }
    }
    Ok(())
}

/// How many examples that must not compile are in each file, by its path.
type Files = BTreeMap<String, usize>;

/// The packages whose sources have any.
fn in_packages() -> Outcome<BTreeMap<String, Files>> {
    let mut packages: BTreeMap<String, Files> = BTreeMap::new();
    for path in tracked::files()? {
        if !path.ends_with(".rs") && !path.ends_with(".md") {
            continue;
        }
        let count = examples(&path, &run::read(&run::root().join(&path))?)?;
        if count == 0 {
            continue;
        }
        let package = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((package, _)) = package.filter(|_| path.ends_with(".rs")) else {
            return Err(
                format!("{path}: examples must not compile in a crate's sources only").into()
            );
        };
        packages.entry(package.to_owned()).or_default().insert(path.clone(), count);
    }
    match packages.is_empty() {
        true => Err("there is no example that must not compile".into()),
        false => Ok(packages),
    }
}

/// How many examples of a file must not compile. Each names the error that it must fail by.
fn examples(path: &str, text: &str) -> Outcome<usize> {
    let mut count = 0_usize;
    for (place, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches("///").trim_start_matches("//!");
        let Some(words) = line.trim_start().strip_prefix("```") else { continue };
        let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
        if !words.clone().any(|word| word == "compile_fail") {
            continue;
        }
        if !words.any(is_code) {
            let line = place.saturating_add(1);
            return Err(format!("{path}:{line}: does not name the error that it fails by").into());
        }
        count = count.saturating_add(1);
    }
    Ok(count)
}

fn is_code(word: &str) -> bool {
    word.strip_prefix('E')
        .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// That as many ran in each file as are there.
fn all_failed(files: &Files, printed: &str) -> Outcome {
    for (path, count) in files {
        let line = |line: &&str| {
            let named = line.strip_prefix("test ").and_then(|line| line.strip_prefix(path));
            named.is_some_and(|rest| {
                rest.starts_with(" - ") && rest.ends_with(" - compile fail ... ok")
            })
        };
        let ran = printed.lines().filter(line).count();
        if ran != *count {
            return Err(
                format!("{path}: {ran} examples that must not compile ran, of {count}").into()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_rustdoc_compares_codes() {
        let scratch = env::temp_dir().join(format!("forbidden-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        wrong_codes_are_found_out(&scratch).unwrap();
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn every_example_names_its_error() {
        let page = "/// ```compile_fail,E0308\n/// ```\n    //! ``` compile_fail, E0499\n//! ```\n\
                    /// ```no_run\n/// ```\n";
        assert_eq!(examples("a.rs", page).unwrap(), 2);
        for without in
            ["/// ```compile_fail", "//! ```compile_fail,edition2021", "```compile_fail,E1"]
        {
            let error = examples("a.rs", without).unwrap_err().to_string();
            assert!(error.starts_with("a.rs:1: "), "{error}");
        }
    }

    #[test]
    fn an_example_that_did_not_run_is_missed() {
        let files = Files::from([("a/b.rs".to_owned(), 1)]);
        let ran = "test a/b.rs - b::Kept (line 3) - compile fail ... ok\n";
        all_failed(&files, ran).unwrap();
        assert!(all_failed(&files, "test a/b.rs - b::Kept (line 3) ... ok\n").is_err());
        assert!(all_failed(&files, &ran.replace("ok", "ignored")).is_err());
        assert!(all_failed(&files, &ran.replace("a/b.rs", "a/b.rs.rs")).is_err());
    }
}
