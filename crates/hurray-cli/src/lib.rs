//! The `hurray` command, as a library: the binary is one call of [`main`], and whatever
//! carries the command elsewhere calls [`run`] with streams of its own.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "sizes of what is in memory and widths of columns; release builds check overflow too"
)]

mod arguments;
mod cat;
mod console;
mod conversion;
mod convert;
mod demo;
pub mod describe;
mod escape;
mod explain;
mod failure;
mod hex;
mod input;
mod inspect;
mod json;
mod kind;
mod ls;
mod nearest;
mod output;
mod progress;
mod refusal;
mod verify;
mod words;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use console::Console;
pub use console::Streams;
use failure::Failure;

/// Runs the command of this process and tells its exit code: 0 all is well, 1 something was
/// found wrong or could not be done, 2 the command line makes no sense.
pub fn main() -> ExitCode {
    let streams = Streams {
        output_is_terminal: io::stdout().is_terminal(),
        errors_are_terminal: io::stderr().is_terminal(),
        input: &mut io::stdin().lock(),
        output: &mut io::stdout().lock(),
        errors: &mut io::stderr(),
    };
    ExitCode::from(run(std::env::args_os(), streams))
}

/// Runs the command with these arguments, the command's own name first, and gives its exit
/// code.
///
/// ```
/// let mut output = Vec::new();
/// let streams = hurray_cli::Streams {
///     input: &mut std::io::empty(),
///     output: &mut output,
///     errors: &mut std::io::sink(),
///     output_is_terminal: false,
///     errors_are_terminal: false,
/// };
/// let code = hurray_cli::run(["hurray", "explain", "descriptor.magic"], streams);
/// assert_eq!(code, 0);
/// assert!(String::from_utf8_lossy(&output).contains("magic is not HRRY"));
/// ```
pub fn run<I>(arguments: I, streams: Streams<'_>) -> u8
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => return answer_by_clap(&answer, streams),
    };
    let mut console = Console::new(streams, arguments.settings);
    let done = match &arguments.command {
        Command::Convert(arguments) => convert::run(arguments, &mut console),
        Command::Inspect(arguments) => inspect::run(arguments, &mut console),
        Command::Verify(arguments) => verify::run(arguments, &mut console),
        Command::Ls(arguments) => ls::run(arguments, &mut console),
        Command::Cat(arguments) => cat::run(arguments, &mut console),
        Command::Explain(arguments) => explain::run(arguments, &mut console),
        Command::Demo(arguments) => demo::run(arguments, &mut console),
    };
    let flushed = console.output.flush().map_err(Failure::from);
    match done.and(flushed) {
        Ok(()) => 0,
        // `hurray ls model | head` is done, not wrong.
        Err(failure) if failure.is_closed() => 0,
        Err(failure) => {
            tell(&mut console, &failure);
            failure.code()
        }
    }
}

fn tell(console: &mut Console<'_>, failure: &Failure) {
    let name = console.errors.ink().bad("hurray:");
    match failure {
        Failure::Told => {}
        Failure::Usage(what) => {
            console.remark(&format!("{name} {what}\nhurray --help tells how it is used"));
        }
        Failure::Failed { what, hint: None } => console.remark(&format!("{name} {what}")),
        Failure::Failed { what, hint: Some(hint) } => {
            console.remark(&format!("{name} {what}\n  {hint}"));
        }
        Failure::Output(error) => {
            console.remark(&format!("{name} cannot write the output: {error}"));
        }
    }
}

/// Help and the version are results; anything else is a mistake in the command line.
fn answer_by_clap(answer: &clap::Error, streams: Streams<'_>) -> u8 {
    let code = if answer.use_stderr() { 2 } else { 0 };
    let (to, is_terminal) = match code {
        0 => (streams.output, streams.output_is_terminal),
        _ => (streams.errors, streams.errors_are_terminal),
    };
    let text = answer.render();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let text = if is_terminal && !no_color { text.ansi().to_string() } else { text.to_string() };
    // Nobody is left to tell where this cannot be written.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    code
}
