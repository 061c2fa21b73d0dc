//! The proof that hurray-format and all it depends on link no std.
//!
//! `no-std-probe` is a program with its own panic handler that uses hurray-format. The std brings a
//! panic handler of its own, and two in one program do not compile: if any crate in the graph links
//! std, checking the probe fails. To know that the proof has teeth, it is also checked with std
//! linked on purpose, and must then fail.

use std::{fs, path::Path};

use crate::{Outcome, run};

/// What rustc says when two panic handlers meet.
const TWO_HANDLERS: &str = "panic_impl";

pub(crate) fn prove(target_directory: &Path) -> Outcome {
    let probe = run::root().join("xtask/no-std-probe");
    // The very versions the workspace uses: cargo drops from the copy what the probe does not need.
    fs::copy(run::root().join("Cargo.lock"), probe.join("Cargo.lock"))?;

    let plain = check(&probe, target_directory, &[])?;
    if let Some(errors) = plain {
        let cause = if errors.contains(TWO_HANDLERS) {
            "hurray-format links std"
        } else {
            "the probe does not build"
        };
        return Err(format!("{cause}:\n{errors}").into());
    }
    match check(&probe, target_directory, &["--features", "std-on-purpose"])? {
        Some(errors) if errors.contains(TWO_HANDLERS) => {
            println!(
                "no std    hurray-format (and the probe does fail when std is linked on purpose)"
            );
            Ok(())
        }
        Some(errors) => {
            Err(format!("with std on purpose the probe fails for another reason:\n{errors}").into())
        }
        None => Err("the probe builds although std is linked on purpose: it proves nothing".into()),
    }
}

/// What the compiler said, if it refused the probe.
fn check(probe: &Path, target_directory: &Path, features: &[&str]) -> Outcome<Option<String>> {
    let mut command = run::cargo(&["check", "--quiet", "--color", "never", "--manifest-path"]);
    command.arg(probe.join("Cargo.toml")).args(features);
    command.arg("--target-dir").arg(target_directory.join("no-std-probe"));
    run::announce(&command);
    let output = run::keep(&mut command)?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned()))
}
