//! `cargo xtask loom`: the models of how threads meet over memory, events and streams.

use crate::{Outcome, metadata, no_arguments, run};

pub(crate) fn command(arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    check()
}

/// Tries every order of every model. What is built for that has a folder of its own, since
/// everything is built otherwise than usual.
pub(crate) fn check() -> Outcome {
    let target = metadata::read()?.target_directory.join("loom");
    let mut command = run::cargo(&["test", "--package", "hurray-tensor", "--test", "loom"]);
    command.args(["--release", "--target-dir"]).arg(target);
    run::show(command.env("RUSTFLAGS", "--cfg loom"))
}
