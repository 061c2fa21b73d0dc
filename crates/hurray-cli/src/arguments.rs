//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use hurray_tensor::format::Accept;

use crate::{cat, convert, demo, explain, inspect, ls, verify};

const AFTER: &str = "\
Exit codes: 0 all is well; 1 something was found wrong or could not be done; 2 the command line \
makes no sense. A reader that closes its end of a pipe early is not an error.

Files are mapped into memory: while a command runs, nobody may change or shorten the files it \
reads, or it may see other bytes or be killed. The command takes that to be agreed; --no-map reads \
instead. `-` is standard input.";

/// Tensor files that say exactly what their bytes are: convert them, look inside, prove them
/// intact
#[derive(Debug, Parser)]
#[command(name = "hurray", version, after_help = AFTER, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading that keeps them apart from a command's own.
const SHARED: &str = "Options of every command";

/// What all commands share.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Settings {
    /// When to use colours; NO_COLOR is honoured
    #[arg(long, global = true, help_heading = SHARED, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Accept private tags, which are otherwise refused because nobody agreed on them;
    /// inspect and ls, which look at no data, always do
    #[arg(long, global = true, help_heading = SHARED)]
    pub(crate) accept_private: bool,
    /// Read files instead of mapping them into memory
    #[arg(long, global = true, help_heading = SHARED)]
    pub(crate) no_map: bool,
    /// The most bytes of a Hurray file to take from standard input, which go to a temporary
    /// file that nobody else can open; K, M, G and T stand for powers of 1024
    #[arg(long, global = true, help_heading = SHARED, value_name = "BYTES", default_value = "16G", value_parser = bytes)]
    pub(crate) spool_limit: u64,
}

impl Settings {
    /// The private tags that were agreed.
    pub(crate) fn accept(&self) -> Accept {
        if self.accept_private { Accept::every_private_tag() } else { Accept::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal
    Auto,
    /// Even in a pipe
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn a tensor file into one of another kind
    ///
    /// safetensors (one file, or shards by their index) become a Hurray file; a Hurray file
    /// becomes safetensors, a plain stream, or a Hurray file written anew; a plain stream
    /// becomes a Hurray file. What moved, what was transcoded and what was left out is told.
    Convert(convert::Arguments),
    /// Show what is in a file, a stream or a descriptor
    Inspect(inspect::Arguments),
    /// Prove files intact, or name the rule they break
    ///
    /// Everything is checked: structure, descriptors, padding, checksums, index arrays of
    /// sparse tensors, scales, composites.
    Verify(verify::Arguments),
    /// List the tensors of a file: name, type, shape, bytes
    ///
    /// One tensor a line, with a tab between its name, type, shape and bytes. A name that
    /// holds anything odd is quoted. Other names of a tensor come last, with -> and its own
    /// name behind them.
    Ls(ls::Arguments),
    /// Write a tensor's bytes to standard output
    Cat(cat::Arguments),
    /// Tell what a rule of the format asks
    Explain(explain::Arguments),
    /// See the whole of it on a small real model: convert, inspect, verify, convert back
    Demo(demo::Arguments),
}

/// A count of bytes: a number, with K, M, G or T for powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches("iB").trim_end_matches('B');
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (text.get(..at), 10),
        Some((at, 'M' | 'm')) => (text.get(..at), 20),
        Some((at, 'G' | 'g')) => (text.get(..at), 30),
        Some((at, 'T' | 't')) => (text.get(..at), 40),
        _ => (Some(text), 0),
    };
    let number: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    let scaled = number.and_then(|number| number.checked_mul(1 << shift));
    scaled.ok_or_else(|| "not a number of bytes, such as 4096, 64M or 16G".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn bytes_are_numbers_with_or_without_a_unit() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64K"), Ok(65536));
        assert_eq!(bytes("1MiB"), Ok(1 << 20));
        assert_eq!(bytes("16G"), Ok(16 << 30));
        for wrong in ["", "K", "-1", "1.5G", "99999999999999999999", "99999999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
