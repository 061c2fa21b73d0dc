//! Whether two safetensors models say the same.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::source::{SafetensorsSource, SourceTensor};
use crate::error::{Error, Result, Shown};
use crate::piece::as_length;

/// Something two models do not have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// A tensor that only the first has.
    OnlyFirst(String),
    /// A tensor that only the second has.
    OnlySecond(String),
    /// A tensor of another type or shape.
    Record(String),
    /// A tensor with another byte, that many bytes from its start.
    Byte(String, u64),
    /// A key of the metadata with another value, or only in one of them.
    Metadata(String),
}

impl SafetensorsSource<'_> {
    /// The first difference to another model: in the names, types, shapes and bytes of its
    /// tensors or in its metadata. The order of either is none, nor is the number of files.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where one of them cannot be read.
    pub fn difference(&self, other: &SafetensorsSource<'_>) -> Result<Option<Difference>> {
        let mut left: HashMap<&str, &SourceTensor> =
            other.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        let mut memory = (Vec::new(), Vec::new());
        for tensor in &self.tensors {
            let name = || tensor.name.clone();
            let Some(same) = left.remove(tensor.name.as_str()) else {
                return Ok(Some(Difference::OnlyFirst(name())));
            };
            if (tensor.dtype, &tensor.shape) != (same.dtype, &same.shape) {
                return Ok(Some(Difference::Record(name())));
            }
            let mut at = 0;
            while at < tensor.bytes() {
                let bytes = self.piece(tensor, at, &mut memory.0).map_err(Error::uncarried)?;
                let others = other.piece(same, at, &mut memory.1).map_err(Error::uncarried)?;
                if bytes != others {
                    let place = bytes.iter().zip(others).position(|(one, other)| one != other);
                    let at = at.saturating_add(as_length(place.unwrap_or_default()));
                    return Ok(Some(Difference::Byte(name(), at)));
                }
                at = at.saturating_add(as_length(bytes.len()));
            }
        }
        if let Some(tensor) = other.tensors.iter().find(|tensor| left.contains_key(&*tensor.name)) {
            return Ok(Some(Difference::OnlySecond(tensor.name.clone())));
        }
        Ok(self.metadata_difference(other))
    }

    fn metadata_difference(&self, other: &SafetensorsSource<'_>) -> Option<Difference> {
        let pairs = |source: &Self| source.metadata.iter().cloned().collect::<BTreeMap<_, _>>();
        let (one, other) = (pairs(self), other.metadata.iter().cloned().collect());
        let differs = |key: &&String| one.get(*key) != BTreeMap::get(&other, *key);
        let key = one.keys().chain(other.keys()).find(differs)?;
        Some(Difference::Metadata(key.clone()))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyFirst(name) => write!(f, "only the first has tensor {}", Shown(name)),
            Self::OnlySecond(name) => write!(f, "only the second has tensor {}", Shown(name)),
            Self::Record(name) => {
                write!(f, "tensor {} has another type or shape", Shown(name))
            }
            Self::Byte(name, at) => write!(f, "tensor {} differs at its byte {at}", Shown(name)),
            Self::Metadata(key) => write!(f, "the metadata differs at key {}", Shown(key)),
        }
    }
}
