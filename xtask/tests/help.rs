//! Asking for help runs nothing, and is no error.

use std::{io, process::Command};

#[test]
fn help_is_shown_and_nothing_runs() -> io::Result<()> {
    let asked: [&[&str]; 7] = [
        &[],
        &["help"],
        &["--help"],
        &["-h"],
        &["lint", "--help"],
        &["fuzz", "-h"],
        &["test", "rust", "--help"],
    ];
    for arguments in asked {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}");
        assert!(text.starts_with("cargo xtask COMMAND\n"), "{arguments:?}: {text}");
        // Whatever runs is announced.
        assert!(!text.contains("\n$ "), "{arguments:?}: {text}");
    }
    Ok(())
}

#[test]
fn an_unknown_command_is_refused() -> io::Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("lnit").output()?;
    assert_eq!(output.status.code(), Some(2));
    Ok(())
}
