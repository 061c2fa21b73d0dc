//! The status codes of the C interfaces: one table from faults to numbers.

use std::io::ErrorKind;

use hurray_format::{Fault, Rule};

use crate::Error;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $c:literal;)*) => {
        /// What a C function answers: 0, or a negative number that says whose fault a failure is.
        ///
        /// `hurray_abi.h` defines the same numbers; they are never changed or used again.
        ///
        /// ```
        /// use hurray_tensor::exchange::Status;
        /// use hurray_tensor::format::Fault;
        /// assert_eq!(Status::from(Fault::Refused).code(), -3);
        /// assert_eq!(Status::from_code(-3), Some(Status::Refused));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Status {
            $($(#[$doc])* $name = $code,)*
        }

        impl Status {
            /// Every status, from [`Status::Ok`] downwards.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its number.
            pub const fn code(self) -> i32 {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Its name in `hurray_abi.h`.
            pub const fn c_name(self) -> &'static str {
                match self {
                    $(Self::$name => $c,)*
                }
            }

            /// The status with that number, if there is one.
            pub const fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    /// Done.
    Ok = 0, "HURRAY_OK";
    /// The bytes break a rule of the format.
    Corrupt = -1, "HURRAY_CORRUPT";
    /// Legal, but not understood here, or by agreement only.
    Unsupported = -2, "HURRAY_UNSUPPORTED";
    /// Legal and understood, but it would copy, fall back, or pass a limit.
    Refused = -3, "HURRAY_REFUSED";
    /// The other side of an exchange broke its rules.
    Peer = -4, "HURRAY_PEER";
    /// The operating system or a driver said no.
    System = -5, "HURRAY_SYSTEM";
    /// A mistake of the calling program.
    Misuse = -6, "HURRAY_MISUSE";
    /// A bug of the callee, which it caught at its edge.
    Panic = -7, "HURRAY_PANIC";
    /// Not enough memory.
    OutOfMemory = -8, "HURRAY_OUT_OF_MEMORY";
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Corrupt => Self::Corrupt,
            Fault::Unsupported => Self::Unsupported,
            Fault::Refused => Self::Refused,
            Fault::Peer => Self::Peer,
            Fault::System => Self::System,
            Fault::Misuse => Self::Misuse,
            // A fault that the format learns of later is nobody's but ours until it is listed here.
            _ => Self::Panic,
        }
    }
}

impl From<Rule> for Status {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::SparseOutOfMemory | Rule::MemoryTooLarge => Self::OutOfMemory,
            rule => Self::from(rule.fault()),
        }
    }
}

impl From<&Error> for Status {
    fn from(error: &Error) -> Self {
        match error {
            Error::Format { error, .. } => Self::from(error.rule()),
            Error::Io { source, .. } if source.kind() == ErrorKind::OutOfMemory => {
                Self::OutOfMemory
            }
            Error::Io { .. } => Self::System,
        }
    }
}
