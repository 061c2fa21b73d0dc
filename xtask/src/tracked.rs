//! The files of the repository.

use std::process::Command;

use crate::{Outcome, run};

/// What git tracks, and what is new and not ignored, by its path from the root.
pub(crate) fn files() -> Outcome<Vec<String>> {
    let mut command = Command::new("git");
    // The checkout may be another user's; listing its files runs nothing of theirs.
    command.args(["-c", "safe.directory=*", "ls-files", "-z"]);
    command.args(["--cached", "--others", "--exclude-standard"]).current_dir(run::root());
    let output = run::keep(&mut command)?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let listed = String::from_utf8(output.stdout)?;
    // A tracked file may have been removed since.
    let is_there = |path: &&str| run::root().join(path).exists();
    Ok(listed.split_terminator('\0').filter(is_there).map(str::to_owned).collect())
}
