//! Why a call fails, and the last failure of each thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::rc::Rc;

use hurray_tensor::Error;
use hurray_tensor::exchange::Status;
use hurray_tensor::format::{self, Expected, Rule, Value};

/// The result of the body of a call.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A rule was broken, or the system refused.
    Error(Error),
    /// This library has a bug.
    Panic(String),
    /// A callback of the caller's asked to stop, and with which status.
    Stopped(i32),
    /// A failure with that status, of which the words failed too.
    Untold(i32),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<format::Error> for Failure {
    fn from(error: format::Error) -> Self {
        Self::Error(error.into())
    }
}

/// A breach of `rule` in the argument or field `name`.
#[cold]
pub(crate) fn refuse(rule: Rule, name: &'static str, found: Value, expected: Expected) -> Failure {
    format::Error::new(rule, name, 0, found, expected).into()
}

/// The same, where the rule's own sentence says it all.
#[cold]
pub(crate) fn refused(rule: Rule, name: &'static str) -> Failure {
    refuse(rule, name, Value::None, Expected::Unsaid)
}

impl Failure {
    pub(crate) fn status(&self) -> i32 {
        match self {
            Self::Error(error) => Status::from(error).code(),
            Self::Panic(_) => Status::Panic.code(),
            Self::Stopped(status) | Self::Untold(status) => *status,
        }
    }
}

/// A failure in words of C's.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: i32,
    pub(crate) rule: Option<Rule>,
    pub(crate) field: CString,
    pub(crate) offset: u64,
    pub(crate) message: CString,
}

impl Told {
    fn of(failure: &Failure) -> Self {
        let broken = match failure {
            Failure::Error(error) => error.format(),
            Failure::Panic(_) | Failure::Stopped(_) | Failure::Untold(_) => None,
        };
        let message = match failure {
            Failure::Error(error) => error.to_string(),
            Failure::Panic(text) => format!("a bug of this library: {text}"),
            Failure::Stopped(status) => format!("a callback asked to stop with status {status}"),
            Failure::Untold(_) => "what went wrong has no words".to_owned(),
        };
        Self {
            status: failure.status(),
            rule: broken.map(format::Error::rule),
            field: c_string(broken.map_or("", format::Error::field).to_owned()),
            offset: broken.map_or(0, format::Error::offset),
            message: c_string(message),
        }
    }
}

/// What ends a string in C stands nowhere inside one.
pub(crate) fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default()
}

thread_local! {
    static LAST: RefCell<Option<Rc<Told>>> = const { RefCell::new(None) };
}

/// Keeps a failure as the thread's last one. While a thread ends there may be no place left for it;
/// the status says enough then.
pub(crate) fn keep(failure: &Failure) {
    let told = Rc::new(Told::of(failure));
    let _ = LAST.try_with(|last| last.replace(Some(told)));
}

/// The thread's last failure. Its texts stay where they are until the next one is kept.
pub(crate) fn last() -> Option<Rc<Told>> {
    LAST.try_with(|last| last.borrow().clone()).ok().flatten()
}

/// The message of the thread's last failure; nothing where it had none.
pub(crate) fn last_message() -> *const c_char {
    last().map_or(c"".as_ptr(), |told| told.message.as_ptr())
}
