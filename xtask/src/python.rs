//! Virtual environments for the checks that are written in Python.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, run};

/// Why no environment can be made here, where that is no fault of the project: what is missing and
/// how to install it.
pub(crate) struct Missing(pub(crate) String);

/// Says what keeps this machine from making a virtual environment, if anything does.
pub(crate) fn missing() -> Option<Missing> {
    let python = interpreter();
    let runs = |code: &str| {
        let output = run::keep(Command::new(&python).args(["-c", code]));
        output.is_ok_and(|output| output.status.success())
    };
    let shown = python.display();
    if !runs("import sys; sys.exit(sys.version_info < (3, 11))") {
        return Some(Missing(format!("{shown} is no Python 3.11 or later; name one with PYTHON=")));
    }
    if !runs("import venv, ensurepip") {
        return Some(Missing(format!(
            "{shown} has no venv module; as root: apt-get install python3-venv"
        )));
    }
    None
}

/// The Python of the environment `name` with the packages of a requirements file, made when it is
/// not there or holds others.
pub(crate) fn environment(name: &str, requirements: &Path) -> Outcome<PathBuf> {
    let folder = run::root().join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let wanted = run::read(requirements)?;
    // Written last, so that an environment half made is made again.
    let stamp = folder.join("requirements.txt");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    run::show(Command::new(interpreter()).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run::show(Command::new(&python).args(pip).arg(requirements))?;
    fs::write(&stamp, wanted)?;
    Ok(python)
}

/// The Python to make environments with: `PYTHON`, or the usual name.
pub(crate) fn interpreter() -> OsString {
    env::var_os("PYTHON").unwrap_or_else(|| if cfg!(windows) { "python" } else { "python3" }.into())
}
