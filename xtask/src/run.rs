//! Running other programs, and saying so.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::Outcome;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// The cargo that runs us, in the folder of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a program to its end; its output goes where ours goes.
pub(crate) fn show(command: &mut Command) -> Outcome {
    announce(command);
    let status = command.status().map_err(|error| format!("{}: {error}", spelled(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} ended with {status}", spelled(command)).into())
    }
}

/// Runs a program to its end and keeps what it printed, whether it succeeded or not.
pub(crate) fn keep(command: &mut Command) -> Outcome<Output> {
    Ok(command.output().map_err(|error| format!("{}: {error}", spelled(command)))?)
}

/// Prints a command as a person would type it.
pub(crate) fn announce(command: &Command) {
    println!("$ {}", spelled(command));
}

/// A file's text; the error names the file.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    Ok(fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// A path, or any word, as seen from the folder of the workspace.
pub(crate) fn inside(word: &OsStr) -> String {
    let path = Path::new(word);
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = match program.strip_prefix(root()) {
        Ok(inside) => inside.as_os_str(),
        Err(_) => program.file_name().unwrap_or(program.as_os_str()),
    };
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
        // Long, and the machine's own.
        .filter(|(name, _)| *name != "PATH")
        .map(|(name, value)| format!("{}={}", name.display(), inside(value)));
    let words = [program].into_iter().chain(command.get_args()).map(inside);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}
