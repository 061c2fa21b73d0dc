//! What can go wrong with files and streams, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hurray_format::{self as format, Rule};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A broken rule of the format, or an operating system that said no.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A rule of the format is broken.
    Format {
        /// Which rule, where, what was found and expected.
        error: format::Error,
        /// In which file and tensor.
        place: Box<Place>,
    },
    /// The operating system refused.
    Io {
        /// What was being done, such as `read`.
        doing: &'static str,
        /// In which file and tensor.
        place: Box<Place>,
        /// What it said.
        source: io::Error,
    },
}

/// Where an error was met, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Option<PathBuf>,
    /// The tensor's name.
    pub tensor: Option<String>,
}

impl Error {
    pub(crate) fn io(doing: &'static str, source: io::Error) -> Self {
        Self::Io { doing, place: Box::default(), source }
    }

    /// The rule that was broken, where it was a rule.
    pub fn rule(&self) -> Option<Rule> {
        self.format().map(format::Error::rule)
    }

    /// The format's own error, where it was a rule.
    pub fn format(&self) -> Option<&format::Error> {
        match self {
            Self::Format { error, .. } => Some(error),
            Self::Io { .. } => None,
        }
    }

    /// Where it was met.
    pub fn place(&self) -> &Place {
        match self {
            Self::Format { place, .. } | Self::Io { place, .. } => place,
        }
    }

    /// The same error, met in the file at `path`, unless a file is named already.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.place_mut().path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The same error, met in the tensor `name`, unless a tensor is named already.
    #[must_use]
    pub fn in_tensor(mut self, name: &str) -> Self {
        self.place_mut().tensor.get_or_insert_with(|| name.to_owned());
        self
    }

    fn place_mut(&mut self) -> &mut Place {
        match self {
            Self::Format { place, .. } | Self::Io { place, .. } => place,
        }
    }
}

impl From<format::Error> for Error {
    #[cold]
    fn from(error: format::Error) -> Self {
        Self::Format { error, place: Box::default() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        if let Some(path) = &place.path {
            write!(f, "{path:?}: ")?;
        }
        if let Some(tensor) = &place.tensor {
            write!(f, "tensor {tensor:?}: ")?;
        }
        match self {
            Self::Format { error, .. } => error.fmt(f),
            Self::Io { doing, source, .. } => write!(f, "cannot {doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Format { error, .. } => Some(error),
            Self::Io { source, .. } => Some(source),
        }
    }
}
