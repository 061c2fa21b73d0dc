//! What can go wrong in a conversion: in which file, with which tensor, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hurray_tensor as tensor;
use hurray_tensor::format::{self, DeviceTag, Dtype, Rule};

use crate::safetensors::{HeaderFault, ShardFault};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a conversion stopped. Nothing of it is left behind where [`save`](crate::save)
/// wrote the output.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A rule of the format is broken, or the system refused, on the Hurray side.
    Tensor(tensor::Error),
    /// The system refused, on the other side.
    Io {
        /// What was being done, such as `read`.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no valid safetensors file.
    Safetensors {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Box<HeaderFault>,
    },
    /// The index of a sharded model and its shards do not fit together.
    Shards {
        /// The index.
        path: PathBuf,
        /// What is wrong.
        fault: Box<ShardFault>,
    },
    /// Valid, and not to be had on the other side.
    Refused {
        /// The file it is in.
        path: PathBuf,
        /// Every tensor that is refused, at least one.
        refusals: Vec<Refusal>,
    },
    /// Names were given for a stream of another number of tensors.
    Names {
        /// The stream.
        path: PathBuf,
        /// How many names there are.
        given: usize,
        /// How many tensors; one more than the names where it was not read to its end.
        found: usize,
    },
}

/// A tensor that is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Its name.
    pub tensor: String,
    /// Why.
    pub reason: Reason,
}

/// Why a tensor is refused. Its `Display` says what to do as well.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Hurray has no such type: its name in safetensors.
    NoHurrayType(String),
    /// safetensors has no such type.
    NoSafetensorsType(Dtype),
    /// A boolean that is neither 0 nor 1.
    BooleanByte {
        /// The byte.
        found: u8,
        /// Which element it is, from 0.
        element: u64,
        /// Where it is in the file, in bytes.
        offset: u64,
    },
    /// A name that means something else in safetensors.
    ReservedName,
    /// A dimension of 2^64 − 1, which means unknown in Hurray.
    DynamicLookalike,
    /// A rule of the format that the tensor breaks.
    Rule(format::Error),
    /// Elements that do not lie one after the other, last dimension fastest: the layout.
    Layout(&'static str),
    /// A quantized tensor: the scheme.
    Quantized(&'static str),
    /// A dimension that is not known yet.
    Dynamic,
    /// A box of a larger tensor.
    Shard,
    /// A tensor that is not in host memory.
    Device(DeviceTag),
    /// Elements that do not fill their last byte: how many there are, of how many bits.
    PartialByte(u64, u32),
    /// More than the `safetensors` crate can count.
    TooLarge,
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }

    pub(crate) fn refused(path: &Path, tensor: &str, reason: Reason) -> Self {
        let refusals = vec![Refusal { tensor: tensor.to_owned(), reason }];
        Self::Refused { path: path.to_owned(), refusals }
    }

    /// The rule of the format that was broken, where it was one.
    pub fn rule(&self) -> Option<Rule> {
        self.format().map(format::Error::rule)
    }

    /// The format's own error, where a rule was broken.
    pub fn format(&self) -> Option<&format::Error> {
        match self {
            Self::Tensor(error) => error.format(),
            Self::Refused { refusals, .. } => match refusals.first().map(|first| &first.reason) {
                Some(Reason::Rule(error)) => Some(error),
                _ => None,
            },
            _ => None,
        }
    }

    /// The file it was met in, where that is known.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Tensor(error) => error.place().path.as_deref(),
            Self::Io { path, .. }
            | Self::Safetensors { path, .. }
            | Self::Shards { path, .. }
            | Self::Refused { path, .. }
            | Self::Names { path, .. } => Some(path),
        }
    }

    /// The tensor it was met in, where it is one tensor's.
    pub fn tensor(&self) -> Option<&str> {
        match self {
            Self::Tensor(error) => error.place().tensor.as_deref(),
            Self::Refused { refusals, .. } => refusals.first().map(|first| first.tensor.as_str()),
            Self::Safetensors { fault, .. } => fault.tensor(),
            Self::Io { .. } | Self::Shards { .. } | Self::Names { .. } => None,
        }
    }

    /// The same error, met in the file at `path`, unless a file is named already.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Tensor(error) => Self::Tensor(error.in_file(path)),
            named => named,
        }
    }

    /// Carried through a callback that can only fail as the system does. What comes out on
    /// the other side is taken apart again, here and where a [`tensor::Error`] is.
    pub(crate) fn carried(self) -> io::Error {
        io::Error::other(self)
    }

    /// What was [carried](Self::carried), or an error of writing.
    pub(crate) fn uncarried(error: io::Error) -> Self {
        tensor::Error::Io { doing: "write", place: Box::default(), source: error }.into()
    }
}

impl From<tensor::Error> for Error {
    fn from(error: tensor::Error) -> Self {
        let tensor::Error::Io { doing, place, source } = error else {
            return Self::Tensor(error);
        };
        match source.downcast::<Self>() {
            Ok(carried) => carried,
            Err(source) => Self::Tensor(tensor::Error::Io { doing, place, source }),
        }
    }
}

impl From<format::Error> for Error {
    fn from(error: format::Error) -> Self {
        Self::Tensor(error.into())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its own message is this one's.
            Self::Tensor(error) => error.source(),
            Self::Io { source, .. } => Some(source),
            Self::Safetensors { fault, .. } => fault.source(),
            Self::Shards { .. } | Self::Refused { .. } | Self::Names { .. } => None,
        }
    }
}

/// So many of a kind are listed; the rest are counted.
pub(crate) const LISTED: usize = 8;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(error) => error.fmt(f),
            Self::Io { doing, path, source } => write!(f, "{path:?}: cannot {doing}: {source}"),
            Self::Safetensors { path, fault } => write!(f, "{path:?}: {fault}"),
            Self::Shards { path, fault } => write!(f, "{path:?}: {fault}"),
            Self::Refused { path, refusals } => {
                write!(f, "{path:?}: ")?;
                for (place, refusal) in refusals.iter().take(LISTED).enumerate() {
                    let before = if place == 0 { "" } else { "\n" };
                    write!(f, "{before}{refusal}")?;
                }
                match refusals.len().saturating_sub(LISTED) {
                    0 => Ok(()),
                    more => write!(f, "\nand {more} other tensors"),
                }
            }
            Self::Names { path, given, found } => {
                let than = if found > given { "more" } else { "fewer" };
                write!(
                    f,
                    "{path:?}: {given} names were given and the stream has {than} tensors; give \
                     one name for each, or none"
                )
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor {}: {}", Shown(&self.tensor), self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHurrayType(name) if name.ends_with("FNUZ") => write!(
                f,
                "its type {name} is another one than the OCP kind that Hurray has (other bias, no \
                 negative zero): convert its values to an OCP type, or to F16, first"
            ),
            Self::NoHurrayType(name) => {
                write!(f, "Hurray has no type for {name}: convert its values to another type first")
            }
            Self::NoSafetensorsType(dtype) => write!(
                f,
                "safetensors has no type for {dtype}: leave it in a Hurray file, or convert its \
                 values to another type first"
            ),
            Self::BooleanByte { found, element, offset } => write!(
                f,
                "element {element} is the byte 0x{found:02X} at offset {offset} of the file, and a \
                 BOOL is 0 or 1: write the file again with booleans, or call the tensor U8"
            ),
            Self::ReservedName => {
                f.write_str("that name is the metadata's own in safetensors: give it another one")
            }
            Self::DynamicLookalike => f.write_str(
                "a dimension is 2^64 - 1, which in Hurray means that it is not known: the tensor \
                 is empty, so give it another size there",
            ),
            Self::Rule(error) => error.fmt(f),
            Self::Layout(layout) => write!(
                f,
                "its layout is {layout}, and safetensors has row-major only: leave it in a Hurray \
                 file, or rearrange its elements first"
            ),
            Self::Quantized(scheme) => write!(
                f,
                "it is quantized ({scheme}), and safetensors has no place for scales: leave it in \
                 a Hurray file, or dequantize it first"
            ),
            Self::Dynamic => f.write_str(
                "a dimension is not known yet, and safetensors has numbers only: resolve it first",
            ),
            Self::Shard => f.write_str(
                "it is a part of a larger tensor, and safetensors has no place to say which: leave \
                 it in a Hurray file, or assemble the whole first",
            ),
            Self::Device(device) => write!(
                f,
                "its memory is on the device {device}, and safetensors means host memory: copy it \
                 to the host first"
            ),
            Self::PartialByte(elements, bits) => write!(
                f,
                "{elements} elements of {bits} bits fill no whole byte, which safetensors asks \
                 for: leave it in a Hurray file, or widen its type first"
            ),
            Self::TooLarge => f.write_str(
                "its shape multiplies to more than safetensors counts: give an empty tensor \
                 smaller sizes",
            ),
        }
    }
}

/// A name as messages show it: quoted, escaped, and no longer than a line.
pub(crate) struct Shown<'n>(pub(crate) &'n str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 120;
        let end = self.0.char_indices().nth(MOST).map_or(self.0.len(), |(at, _)| at);
        let start = self.0.get(..end).unwrap_or(self.0);
        write!(f, "{start:?}{}", if end < self.0.len() { "..." } else { "" })
    }
}

/// What another library says, which may hold names from a file: whatever a terminal would
/// obey is escaped, and what is long is cut.
pub(crate) struct Theirs<D>(pub(crate) D);

impl<D: fmt::Display> fmt::Display for Theirs<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 300;
        let text = self.0.to_string();
        for (place, character) in text.chars().enumerate() {
            match character {
                _ if place == MOST => return f.write_str("..."),
                '"' | '\'' | '\\' => write!(f, "{character}")?,
                other => write!(f, "{}", other.escape_debug())?,
            }
        }
        Ok(())
    }
}
