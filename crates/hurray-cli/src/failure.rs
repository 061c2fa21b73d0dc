//! Why a command ends with a code other than 0.

use std::io;
use std::path::Path;

use hurray_tensor::{Error, format};

use crate::escape::Escaped;
use crate::refusal::sentence;

/// What a command failed with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something was found wrong, and was told already.
    Told,
    /// The arguments make no sense together; exit code 2.
    Usage(String),
    /// What could not be done, and what the user may do about it.
    Failed { what: String, hint: Option<String> },
    /// Our own output could not be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: Some(hint.into()) }
    }

    /// An input that breaks a rule.
    pub(crate) fn broken(path: &Path, error: &format::Error) -> Self {
        Self::with_hint(format!("{}: {}", shown(path), sentence(error)), explain(error.rule()))
    }

    /// Whatever a file or stream refused.
    pub(crate) fn tensor(path: &Path, error: &Error) -> Self {
        if let Some(closed) = Self::closed(error) {
            return closed;
        }
        let tensor = error.place().tensor.as_deref();
        let tensor = tensor.map(|name| format!(" tensor {}:", Escaped::at_most(name, 120)));
        let what = format!("{}:{} {}", shown(path), tensor.unwrap_or_default(), plain(error));
        match error.rule() {
            Some(rule) => Self::with_hint(what, explain(rule)),
            None => Self::new(what),
        }
    }

    /// The failure, where all of it is that the reader of our output went away: an input is
    /// never written to.
    pub(crate) fn closed(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let kind = io::ErrorKind::BrokenPipe;
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        let closed = causes.any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind)
        });
        closed.then(|| Self::Output(kind.into()))
    }

    /// Whether all that went wrong is that the reader of our output went away.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            _ => 1,
        }
    }
}

/// For writes of our own output alone; what fails while an input is read names it.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) fn explain(rule: format::Rule) -> String {
    format!("hurray explain {rule} tells more")
}

/// What went wrong, without the file and the tensor it went wrong in.
pub(crate) fn plain(error: &Error) -> String {
    match error {
        Error::Format { error, .. } => sentence(error),
        Error::Io { doing, source, .. } => format!("cannot {doing}: {source}"),
        // The enum may grow.
        other => other.to_string(),
    }
}

/// A path as it may be printed.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "standard input".into();
    }
    match path.to_str() {
        Some(text) => Escaped::new(text).to_string(),
        // What is no text is shown by its bytes, as \xNN.
        None => format!("{path:?}"),
    }
}
