//! Files that are made from others and committed: written, or compared with what is there.

use std::{fs, path::Path};

use crate::{Outcome, run};

/// What a generator does with what it made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write what differs.
    Write,
    /// Write nothing; what differs is an error.
    Check,
}

impl Mode {
    /// `--check` or nothing.
    pub(crate) fn from_arguments(arguments: &[String]) -> Outcome<Self> {
        match arguments {
            [] => Ok(Self::Write),
            [flag] if flag == "--check" => Ok(Self::Check),
            other => Err(format!("only --check is taken, not {}", other.join(" ")).into()),
        }
    }
}

/// A generator's command and its function.
type Generator = (&'static str, fn(Mode) -> Outcome);

/// Every generator, as `cargo xtask lint` checks them.
pub(crate) const GENERATORS: &[Generator] = &[
    ("corpus", crate::corpus::generate),
    ("rules", crate::rules::generate),
    ("header", crate::header::generate),
    ("bench", crate::bench::render),
];

/// Writes `contents` to a file, or says that the file is not that.
pub(crate) fn settle(path: &Path, contents: &[u8], mode: Mode) -> Outcome {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    match mode {
        Mode::Write => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            Ok(fs::write(path, contents).map_err(|error| format!("{}: {error}", path.display()))?)
        }
        Mode::Check => Err(format!("{} is not current", run::inside(path.as_os_str())).into()),
    }
}

/// Removes a file that no generator makes any more, or says that it should be gone.
pub(crate) fn settle_absent(path: &Path, mode: Mode) -> Outcome {
    match mode {
        Mode::Write => Ok(fs::remove_file(path)?),
        Mode::Check => {
            Err(format!("{} is made by nothing any more", run::inside(path.as_os_str())).into())
        }
    }
}
