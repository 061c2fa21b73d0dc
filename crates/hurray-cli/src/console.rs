//! What a command has at hand: its streams, the settings that all commands share, and
//! progress on long work.

use std::io::{Read, Write};
use std::path::Path;

use hurray_tensor::format::Accept;

use crate::arguments::{ColorChoice, Settings};
use crate::escape::Escaped;
use crate::input::Inputs;
use crate::output::{Ink, Output};
use crate::progress::Progress;

/// The three standard streams, as [`run`](crate::run) is given them.
pub struct Streams<'s> {
    /// What `-` reads.
    pub input: &'s mut dyn Read,
    /// Where results go.
    pub output: &'s mut dyn Write,
    /// Where complaints and progress go.
    pub errors: &'s mut dyn Write,
    /// Whether `output` is a terminal: colours are used there, unless told otherwise.
    pub output_is_terminal: bool,
    /// Whether `errors` is the process's own standard error and a terminal: progress bars
    /// are drawn there.
    pub errors_are_terminal: bool,
}

pub(crate) struct Console<'s> {
    input: &'s mut dyn Read,
    pub(crate) output: Output<'s>,
    pub(crate) errors: Output<'s>,
    pub(crate) settings: Settings,
    /// Whether raw bytes in the output would garble a terminal.
    pub(crate) output_is_terminal: bool,
    draws: bool,
}

impl<'s> Console<'s> {
    pub(crate) fn new(streams: Streams<'s>, settings: Settings) -> Self {
        let Streams { input, output, errors, output_is_terminal, errors_are_terminal } = streams;
        let ink = |is_terminal| Ink { colors: colors(settings.color, is_terminal) };
        Self {
            input,
            output: Output::new(output, ink(output_is_terminal)),
            errors: Output::new(errors, ink(errors_are_terminal)),
            output_is_terminal,
            draws: errors_are_terminal,
            settings,
        }
    }

    /// Where a command reads from, and where it writes its result meanwhile.
    pub(crate) fn inputs(&mut self, accept: Accept) -> (Inputs<'_, 's>, &mut Output<'s>) {
        let Self { input, output, errors, settings, .. } = self;
        (Inputs { stdin: &mut **input, errors, settings, accept }, output)
    }

    /// Tells something beside the result.
    pub(crate) fn remark(&mut self, text: &str) {
        // Where even the complaint cannot be written, there is nobody to tell.
        let _ = writeln!(self.errors, "{text}").and_then(|()| self.errors.flush());
    }

    /// Shows how far `total` bytes of work on a file have come, on a terminal only.
    pub(crate) fn progress(&self, doing: &str, path: &Path, total: u64) -> Progress {
        if !self.draws {
            return Progress::hidden();
        }
        // The name alone, so that it stays on one line.
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Progress::drawn(&format!("{doing} {}", Escaped::at_most(&name, 32)), total)
    }
}

/// Whether to use colours: what was asked for, else on a terminal unless `NO_COLOR` is set
/// (see no-color.org).
fn colors(choice: ColorChoice, is_terminal: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}
