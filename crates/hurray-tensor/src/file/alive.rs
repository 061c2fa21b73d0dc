//! Tensors of a file, alive: their memory is theirs, and outlives the open file.

use hurray_format::Value;
use hurray_format::{self as format, Error as FormatError, Expected, Rule, SEQUENCE_LENGTHS_KEY};

use super::open::File;
use super::tensor::FileTensor;
use crate::error::{Error, Result};
use crate::tensor::{Composite, Tensor, check};

impl File {
    /// The tensor with that name, alive: see [`FileTensor::to_tensor`].
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`FileTensor::to_tensor`].
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.get(name)?.to_tensor()
    }

    /// The composite whose head has that name, alive, with all its members; of a tensor that
    /// is no head, itself without members.
    ///
    /// # Errors
    ///
    /// The rules of `composite.*`; as [`tensor`](Self::tensor).
    pub fn composite(&self, name: &str) -> Result<Composite> {
        let (container, limits) = (self.container(), &self.accept().limits);
        let head = container.find(name).map_err(|error| self.located(error, name))?;
        let in_head = |error: Error| self.located(error, head.name);
        // That they make a whole is known before their data is read.
        let bound = container.composite(&head, limits, |entry| self.descriptor(entry));
        let mut numbers = Vec::new();
        in_order(&bound.map_err(in_head)?, &mut numbers);
        let entries = numbers.iter().filter_map(|number| container.index().entry(*number));
        let tensors = entries.map(|entry| self.read(&entry)?.to_tensor());
        let tensors: Vec<Tensor> = tensors.collect::<Result<_>>()?;
        Composite::with_limits(tensors, limits).map_err(in_head)
    }
}

/// A head and its members, each before its own.
fn in_order(composite: &format::Composite<u32>, numbers: &mut Vec<u32>) {
    numbers.push(composite.item);
    composite.members.iter().for_each(|member| in_order(member, numbers));
}

impl FileTensor<'_> {
    /// The tensor, alive. Where the file is mapped its buffers are the mapping itself,
    /// read-only, which they keep also when the [`File`] is dropped; where it is read they
    /// are copies. What it is on is host memory, whatever device its descriptor names.
    ///
    /// Index arrays, scales and zero points are checked. Data is not compared with a checksum;
    /// [`verify`](Self::verify) does that.
    ///
    /// ```
    /// use hurray_tensor::{File, TensorRef, WriteOptions, save};
    ///
    /// let path = std::env::temp_dir().join(format!("alive-{}.hrry", std::process::id()));
    /// save(&path, WriteOptions::default(), |file| {
    ///     file.write("w", &TensorRef::of(&[1.0_f32, 2.0], &[2])?)
    /// })?;
    /// let tensor = File::open(&path)?.tensor("w")?;
    /// assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The rules of `sparse.*` and of `quant.*` values; what the system refuses, memory
    /// included.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let tensor = self.to_tensor_trusted()?;
        let start = |place: usize| self.buffer_ranges().get(place).map_or(0, |range| range.start);
        check::contents(&tensor, start).map_err(|error| self.located(error))?;
        Ok(tensor)
    }

    /// The same, without a look at index arrays, scales and zero points: whoever calls this
    /// trusts whoever wrote the file. What is out of place in them is then met where it is
    /// used.
    ///
    /// # Errors
    ///
    /// What the system refuses, memory included.
    pub fn to_tensor_trusted(&self) -> Result<Tensor> {
        let source = self.file().source();
        let buffers = self.buffer_ranges().iter().map(|range| source.buffer(range));
        let buffers = buffers.collect::<Result<_>>().map_err(|error| self.located(error))?;
        let descriptor = self.descriptor().clone();
        Tensor::read(descriptor, buffers).map_err(|error| self.located(error))
    }

    /// How many tokens each sequence of a block-paged tensor has, where the file says it: see
    /// [`Pages::with_lengths`](crate::Pages::with_lengths).
    ///
    /// # Errors
    ///
    /// `file.tensor.sequence-lengths-key` where what the file says is no list of numbers.
    pub fn sequence_lengths(&self) -> Result<Option<Vec<u64>>> {
        let (kv, name) = (self.file().kv(), self.name());
        let lengths = kv.sequence_lengths(name);
        if lengths.is_none()
            && let Some(value) = kv.get(&format!("{SEQUENCE_LENGTHS_KEY}{name}"))
        {
            let found = Value::Tag(value.kind() as u64);
            let expected = Expected::OneOf("an array of uint64");
            let rule = Rule::FileTensorSequenceLengthsKey;
            return Err(self.located(FormatError::new(rule, "kv", 0, found, expected)));
        }
        Ok(lengths)
    }
}
