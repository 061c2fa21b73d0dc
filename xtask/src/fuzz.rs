//! `cargo xtask fuzz`: each fuzz target for a minute.
//!
//! cargo-fuzz asks for flags that a stable compiler takes only with RUSTC_BOOTSTRAP=1. What is
//! found goes to `fuzz/target/found`, never into the committed corpus; a failing input goes to
//! `fuzz/artifacts`.

use std::{env, ffi::OsString, fs, path::PathBuf, process::Command};

use crate::{Outcome, corpus, run};

const CARGO_FUZZ_VERSION: &str = "0.13.2";
const SECONDS: u64 = 60;

pub(crate) fn command(arguments: &[String]) -> Outcome {
    let (seconds, wanted) = parse(arguments)?;
    let present = targets()?;
    if let Some(unknown) = wanted.iter().find(|target| !present.contains(target)) {
        return Err(format!("no fuzz target {unknown:?}; there are {}", present.join(", ")).into());
    }
    let path = path_with_cargo_fuzz()?;
    for target in if wanted.is_empty() { &present } else { &wanted } {
        let found = run::root().join("fuzz/target/found").join(target);
        fs::create_dir_all(&found)?;
        println!("\n== {target}: {seconds} s, from fuzz/corpus/{target}");
        let mut fuzz = run::cargo(&["fuzz", "run", target]);
        // libFuzzer writes to the first folder and only reads the others.
        fuzz.args([found, corpus::folder(target)]);
        fuzz.arg("--").arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
        run::show(fuzz.env("RUSTC_BOOTSTRAP", "1").env("PATH", &path))?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Outcome<(u64, Vec<String>)> {
    let mut seconds = SECONDS;
    let mut targets = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().ok_or("--seconds needs a number")?;
            seconds =
                value.parse().map_err(|_| format!("--seconds needs a number, not {value:?}"))?;
        } else {
            targets.push(argument.clone());
        }
    }
    Ok((seconds, targets))
}

/// The targets' names: one file each.
fn targets() -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(run::root().join("fuzz/fuzz_targets"))? {
        if let Some(name) = entry?.path().file_stem() {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// A PATH on which cargo finds cargo-fuzz: the machine's own, or one installed under `target`.
fn path_with_cargo_fuzz() -> Outcome<OsString> {
    let ours = run::root().join("target/tools");
    let mut folders: Vec<PathBuf> = vec![ours.join("bin")];
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(folders)?;

    let is_there = run::keep(Command::new("cargo-fuzz").arg("--version").env("PATH", &path));
    if !is_there.is_ok_and(|output| output.status.success()) {
        let mut install =
            run::cargo(&["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ_VERSION]);
        run::show(install.arg("--root").arg(&ours))?;
    }
    Ok(path)
}
