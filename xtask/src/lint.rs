//! `cargo xtask lint`: format, clippy, rustdoc, the links of the Markdown files, and what is
//! generated is current.

use crate::{
    Outcome,
    generated::{GENERATORS, Mode},
    links, no_arguments, run,
    test::ADAPTERS,
};

/// Crates that stand outside the workspace, which `--all` does not reach.
const APART: &[&str] = &[FUZZ, "xtask/no-std-probe/Cargo.toml"];
const FUZZ: &str = "fuzz/Cargo.toml";

pub(crate) fn command(arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    run::show(&mut run::cargo(&["fmt", "--all", "--check"]))?;
    for manifest in APART {
        run::show(&mut run::cargo(&["fmt", "--manifest-path", manifest, "--check"]))?;
    }
    run::show(&mut run::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    let denied = ["--all-targets", "--", "-D", "warnings"];
    run::show(run::cargo(&["clippy"]).args(ADAPTERS).args(denied))?;
    run::show(run::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    let mut adapters = run::cargo(&["doc", "--no-deps"]);
    run::show(adapters.args(ADAPTERS).env("RUSTDOCFLAGS", "-D warnings"))?;
    fuzz_lock_is_current()?;
    links::check()?;
    println!("found      what the Markdown files link to");
    for (name, generate) in GENERATORS {
        generate(Mode::Check).map_err(|error| format!("{error}; `cargo xtask {name}` makes it"))?;
        println!("current    cargo xtask {name}");
    }
    Ok(())
}

/// The fuzz crate has a Cargo.lock of its own, which a change of our dependencies leaves behind.
fn fuzz_lock_is_current() -> Outcome {
    let mut command =
        run::cargo(&["metadata", "--format-version", "1", "--locked", "--manifest-path", FUZZ]);
    run::announce(&command);
    let output = run::keep(&mut command)?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{errors}If only the lock is behind: cargo update --workspace --manifest-path {FUZZ}"
    )
    .into())
}
