//! The header: `length u64`, then so many bytes of JSON. Its records are the `safetensors`
//! crate's and so are the rules that the tensors keep; what is added here is names: which
//! tensor an error is about, and whether two have the same.

use std::fmt;

use ::safetensors::SafeTensorError;
use ::safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::error::{LISTED, Shown, Theirs};
use crate::piece::{as_index, as_length};

/// The longest header the `safetensors` crate reads or writes, in bytes.
pub(super) const LONGEST: u64 = 100_000_000;
/// The length in front of the header, in bytes.
pub(super) const LENGTH: u64 = 8;
/// The key that holds metadata, among the names of tensors.
pub(super) const METADATA: &str = "__metadata__";

/// What a header says.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Keys and values, in the order they are written in.
    pub(super) metadata: Vec<(String, String)>,
    /// Names and records, in the order in which the data lies.
    pub(super) tensors: Vec<(String, TensorInfo)>,
}

/// What is wrong with a safetensors file.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeaderFault {
    /// It has fewer bytes than the length of its header takes.
    TooShort(u64),
    /// Its header is said to be longer than the file is, or than any is. It is another kind
    /// of file, or cut.
    HeaderLength {
        /// What the first eight bytes say, as a number.
        length: u64,
        /// The same bytes.
        first: [u8; 8],
        /// How many bytes follow them.
        available: u64,
    },
    /// Its header is no UTF-8 from that byte of the file on.
    NotUtf8(u64),
    /// Its header is no JSON, or not what a header says.
    Json(serde_json::Error),
    /// Two tensors have the same name.
    DuplicateName(String),
    /// Two entries of the metadata have the same key.
    DuplicateKey(String),
    /// A tensor's record breaks a rule of the `safetensors` crate.
    Tensor {
        /// The tensor's name.
        name: String,
        /// What is said about it.
        info: TensorInfo,
        /// Where its data should start: where that of the tensor before ends.
        expected_start: usize,
        /// What the `safetensors` crate says.
        error: SafeTensorError,
    },
    /// The header's tensors take another number of bytes than follow it.
    DataLength {
        /// How many they take.
        expected: u64,
        /// How many follow.
        found: u64,
    },
}

/// How long the header is, given the file's length and its first eight bytes, or as many as
/// it has.
pub(super) fn length(size: u64, first: &[u8]) -> Result<u64, HeaderFault> {
    let Some(first) = first.first_chunk::<8>() else {
        return Err(HeaderFault::TooShort(size));
    };
    let length = u64::from_le_bytes(*first);
    let available = size.saturating_sub(LENGTH);
    if length > available || length > LONGEST {
        return Err(HeaderFault::HeaderLength { length, first: *first, available });
    }
    Ok(length)
}

impl Header {
    /// Reads a header, which is all of `json` and is followed by `data` bytes.
    pub(super) fn read(json: &[u8], data: u64) -> Result<Self, HeaderFault> {
        let json = std::str::from_utf8(json).map_err(|error| {
            HeaderFault::NotUtf8(LENGTH.saturating_add(as_length(error.valid_up_to())))
        })?;
        let mut header: Self = serde_json::from_str(json).map_err(HeaderFault::Json)?;
        if let Some(name) = duplicate(&header.tensors) {
            return Err(HeaderFault::DuplicateName(name.to_owned()));
        }
        if let Some(key) = duplicate(&header.metadata) {
            return Err(HeaderFault::DuplicateKey(key.to_owned()));
        }
        // By name where there is no data, so that the order is always the same.
        header.tensors.sort_unstable_by(|(left, a), (right, b)| {
            a.data_offsets.cmp(&b.data_offsets).then_with(|| left.cmp(right))
        });
        header.check()?;
        let expected = header.data_bytes();
        if expected != data {
            return Err(HeaderFault::DataLength { expected, found: data });
        }
        Ok(header)
    }

    /// Whether the `safetensors` crate would read it.
    pub(super) fn check(&self) -> Result<(), HeaderFault> {
        let Err(error) = Metadata::new(None, self.tensors.clone()) else {
            return Ok(());
        };
        // Few of its errors name the tensor: the first that breaks a rule by itself, or does
        // not start where the one before ends.
        let mut expected_start = 0;
        for (name, info) in &self.tensors {
            let (start, end) = info.data_offsets;
            let alone = end.checked_sub(start).map(|length| {
                let info = TensorInfo { data_offsets: (0, length), ..info.clone() };
                Metadata::new(None, vec![(name.clone(), info)])
            });
            let error = match alone {
                Some(Ok(_)) if start == expected_start => {
                    expected_start = end;
                    continue;
                }
                Some(Err(error)) => error,
                Some(Ok(_)) | None => SafeTensorError::InvalidOffset(name.clone()),
            };
            let (name, info) = (name.clone(), info.clone());
            return Err(HeaderFault::Tensor { name, info, expected_start, error });
        }
        Err(HeaderFault::Json(de::Error::custom(error)))
    }

    /// How many bytes the tensors take.
    pub(super) fn data_bytes(&self) -> u64 {
        self.tensors.last().map_or(0, |(_, info)| as_length(info.data_offsets.1))
    }

    /// The start of a file: the length, then the header, filled up with spaces so that the
    /// data starts at a multiple of eight, as the `safetensors` crate does.
    pub(super) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = vec![0; as_index(LENGTH)];
        serde_json::to_writer(&mut bytes, self)?;
        bytes.resize(bytes.len().next_multiple_of(as_index(LENGTH)), b' ');
        let length = as_length(bytes.len()).saturating_sub(LENGTH);
        if let Some(first) = bytes.first_chunk_mut::<8>() {
            *first = length.to_le_bytes();
        }
        Ok(bytes)
    }
}

/// A name that two items have.
pub(super) fn duplicate<T>(items: &[(String, T)]) -> Option<&str> {
    let mut names: Vec<&str> = items.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some(*one),
        _ => None,
    })
}

/// A map of strings in the order it is written in, duplicates included.
pub(super) struct Pairs(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map.next_value::<String>().map_err(|error| {
                        de::Error::custom(format_args!("key {}: {error}", Shown(&key)))
                    })?;
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Records;
        impl<'de> Visitor<'de> for Records {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a safetensors header: a map of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut header = Header::default();
                let mut metadata = None;
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        let pairs = map.next_value::<Option<Pairs>>()?;
                        if metadata.replace(pairs).is_some() {
                            return Err(de::Error::duplicate_field(METADATA));
                        }
                        continue;
                    }
                    let info = map.next_value::<TensorInfo>().map_err(|error| {
                        de::Error::custom(format_args!("tensor {}: {error}", Shown(&name)))
                    })?;
                    header.tensors.push((name, info));
                }
                header.metadata = metadata.flatten().map_or(Vec::new(), |pairs| pairs.0);
                Ok(header)
            }
        }
        deserializer.deserialize_map(Records)
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct InOrder<'h>(&'h [(String, String)]);
        impl Serialize for InOrder<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
            }
        }
        let mut map = serializer.serialize_map(None)?;
        if !self.metadata.is_empty() {
            map.serialize_entry(METADATA, &InOrder(&self.metadata))?;
        }
        for (name, info) in &self.tensors {
            map.serialize_entry(name, info)?;
        }
        map.end()
    }
}

impl HeaderFault {
    /// The tensor it is about, where it is one tensor's.
    pub fn tensor(&self) -> Option<&str> {
        match self {
            Self::DuplicateName(name) | Self::Tensor { name, .. } => Some(name),
            _ => None,
        }
    }

    pub(crate) fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::Tensor { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(size) => write!(
                f,
                "no safetensors file: {size} bytes, and the length of the header alone takes 8; \
                 get the file again"
            ),
            Self::HeaderLength { length, first, available } => write!(
                f,
                "no safetensors file, or a part of one: its first bytes {} give the header \
                 {length} bytes, and {available} follow (at most {LONGEST} can be); get the file \
                 again",
                FirstBytes(first)
            ),
            Self::NotUtf8(at) => write!(
                f,
                "the header is no UTF-8 from byte {at} of the file on: it is no safetensors file, \
                 or a broken one; get it again"
            ),
            Self::Json(error) => {
                write!(f, "the header is no safetensors header: {}", Theirs(error))
            }
            Self::DuplicateName(name) => write!(
                f,
                "two tensors are called {}: which is meant cannot be told; write the file again",
                Shown(name)
            ),
            Self::DuplicateKey(key) => write!(
                f,
                "two entries of the metadata have the key {}: which is meant cannot be told; write \
                 the file again",
                Shown(key)
            ),
            Self::Tensor { name, info, expected_start, error } => {
                let (start, end) = info.data_offsets;
                write!(f, "tensor {} ({} {}", Shown(name), info.dtype, Shape(&info.shape))?;
                write!(f, ", bytes {start} to {end} of the data): {}", Theirs(error))?;
                if start < *expected_start {
                    write!(f, ": it overlaps the tensor before, which ends at {expected_start}")?;
                } else if start > *expected_start {
                    write!(f, ": there is a hole after the tensor before, which ends at ")?;
                    write!(f, "{expected_start}")?;
                }
                f.write_str("; write the file again")
            }
            Self::DataLength { expected, found } => {
                let what = if found < expected { "it was cut" } else { "something was appended" };
                write!(
                    f,
                    "its tensors take {expected} bytes and {found} follow the header: {what}; get \
                     the file again"
                )
            }
        }
    }
}

/// A shape, the first few sizes of it.
struct Shape<'s>(&'s [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (place, size) in self.0.iter().take(LISTED).enumerate() {
            write!(f, "{}{size}", if place == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() > LISTED { ", ...]" } else { "]" })
    }
}

/// As text where all of them are printable, in hexadecimal otherwise.
struct FirstBytes<'b>(&'b [u8; 8]);

impl fmt::Display for FirstBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.0) {
            Ok(text) if text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') => {
                write!(f, "{text:?}")
            }
            _ => self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}")),
        }
    }
}
