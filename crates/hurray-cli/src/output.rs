//! The one writer that everything printed goes through.

use std::fmt;
use std::io::{self, BufWriter, Write};

/// Where a command prints. It knows whether colours are wanted.
pub(crate) struct Output<'s> {
    to: BufWriter<&'s mut dyn Write>,
    ink: Ink,
}

impl<'s> Output<'s> {
    pub(crate) fn new(to: &'s mut dyn Write, ink: Ink) -> Self {
        // Large enough that raw tensor bytes do not trickle.
        Self { to: BufWriter::with_capacity(1 << 16, to), ink }
    }

    /// How to emphasise what is written here.
    pub(crate) fn ink(&self) -> Ink {
        self.ink
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        // Whatever matters was flushed, and its failure told.
        let _ = self.to.flush();
    }
}

/// Colours, or none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ink {
    pub(crate) colors: bool,
}

impl Ink {
    pub(crate) fn bold<T: fmt::Display>(self, text: T) -> Inked<T> {
        self.with("1", text)
    }

    pub(crate) fn dim<T: fmt::Display>(self, text: T) -> Inked<T> {
        self.with("2", text)
    }

    pub(crate) fn good<T: fmt::Display>(self, text: T) -> Inked<T> {
        self.with("32", text)
    }

    pub(crate) fn bad<T: fmt::Display>(self, text: T) -> Inked<T> {
        self.with("1;31", text)
    }

    fn with<T>(self, code: &'static str, text: T) -> Inked<T> {
        Inked { code: self.colors.then_some(code), text }
    }
}

/// Text with a colour around it, where colours are wanted. A width given to it counts
/// what is seen.
pub(crate) struct Inked<T> {
    code: Option<&'static str>,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Inked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => {
                write!(f, "\u{1b}[{code}m")?;
                self.text.fmt(f)?;
                f.write_str("\u{1b}[0m")
            }
            None => self.text.fmt(f),
        }
    }
}
