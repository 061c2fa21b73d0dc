//! The elements of one dense layout, put where another layout has them.
//!
//! ```
//! use hurray_format::{Descriptor, Dtype, Layout};
//! use hurray_kernels::transcode::{Path, Plan};
//!
//! let source = Descriptor::dense(Dtype::Int16, &[2, 3])?;
//! let plan = Plan::new(&source, &Layout::ColumnMajor)?;
//! assert_eq!((plan.target().layout(), plan.byte_size()), (&Layout::ColumnMajor, 12));
//! assert_eq!(plan.path(), Path::Blocks);
//!
//! let mut columns = [0; 12];
//! plan.run(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0], &mut columns)?;
//! assert_eq!(columns, [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0]);
//! # Ok::<(), hurray_format::Error>(())
//! ```

mod bits;
mod one_by_one;
mod separable;
mod table;
mod transpose;

use hurray_format::{
    BufferHandle, Descriptor, Error, Expected, Layout, LayoutKind, List, Result, Rule, Value,
};

use crate::address::Address;
use separable::Pair;

/// How elements get from one layout to another: what it takes is known before it is done.
#[derive(Clone, Debug)]
pub struct Plan {
    source: Descriptor,
    target: Descriptor,
    byte_size: usize,
    way: Way,
}

/// What a plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Nothing: there are no elements.
    Nothing,
    /// Block by block, through the cache.
    Blocks,
    /// Element by element, each found by its index: Hilbert curves, and private types of other
    /// widths than the rest has.
    Elements,
}

#[derive(Clone, Debug)]
enum Way {
    Nothing,
    Blocks(Box<(Address, Address)>),
    Elements,
}

impl Plan {
    /// From a dense tensor to the same one in `layout`, in a buffer of its own that begins with
    /// what the layout reaches lowest.
    ///
    /// # Errors
    ///
    /// `index.no-address` where a layout is not dense, `descriptor.unresolved` for a dynamic
    /// shape; the rules of the layout, such as `layout.morton.dimension-too-large`;
    /// `transcode.overlap` for strides that put two elements in one place.
    pub fn new(source: &Descriptor, layout: &Layout) -> Result<Self> {
        for layout in [source.layout(), layout] {
            if layout.kind() != LayoutKind::Dense {
                let found = Value::Tag(u64::from(layout.tag()));
                let expected = Expected::OneOf("a dense layout");
                return Err(Error::new(Rule::IndexNoAddress, "layout_tag", 15, found, expected));
            }
        }
        let target = target(source, layout)?;
        let byte_size = target.buffer(0).map_or(0, |handle| handle.byte_size());
        let byte_size = usize::try_from(byte_size).map_err(|_| too_large(byte_size))?;
        let is_usual = matches!(source.dtype().bits(), 1 | 2 | 4 | 6 | 8 | 16 | 32 | 64 | 128);
        let shape = source.shape();
        let way = match (Address::of(source.layout(), shape), Address::of(layout, shape)) {
            _ if source.element_count() == Some(0) => Way::Nothing,
            (_, Some(to)) if !to.is_apart() => {
                let rule = Rule::TranscodeOverlap;
                return Err(Error::new(rule, "strides", 0, Value::None, Expected::Unsaid));
            }
            (Some(from), Some(to)) if is_usual => Way::Blocks(Box::new((from, to))),
            _ => Way::Elements,
        };
        Ok(Self { source: source.clone(), target, byte_size, way })
    }

    /// What the result is. Quantization and whatever else is said of the tensor stays.
    pub fn target(&self) -> &Descriptor {
        &self.target
    }

    /// How many bytes the result takes, padding included.
    pub fn byte_size(&self) -> usize {
        self.byte_size
    }

    /// How it is done.
    pub fn path(&self) -> Path {
        match self.way {
            Way::Nothing => Path::Nothing,
            Way::Blocks(_) => Path::Blocks,
            Way::Elements => Path::Elements,
        }
    }

    /// Does it: from buffer 0 of the source to buffer 0 of the target. Bits of the target that are
    /// no element's are left as they are.
    ///
    /// # Errors
    ///
    /// `memory.size` for slices shorter than the buffers are.
    pub fn run(&self, source: &[u8], target: &mut [u8]) -> Result<()> {
        let needed = self.source.buffer(0).map_or(0, |handle| handle.byte_size());
        check_length(source.len(), needed)?;
        check_length(target.len(), crate::as_u64(self.byte_size))?;
        match &self.way {
            Way::Nothing => Ok(()),
            Way::Elements => one_by_one::run(&self.source, &self.target, source, target),
            Way::Blocks(ways) => self.blocks(&ways.0, &ways.1, source, target),
        }
    }

    fn blocks(&self, from: &Address, to: &Address, source: &[u8], target: &mut [u8]) -> Result<()> {
        let pair = Pair { shape: self.source.shape(), source: from, target: to };
        if self.source.dtype().bits() < 8 {
            let side = |descriptor: &Descriptor, address: &Address| {
                let width = u64::from(descriptor.dtype().bits());
                let below = address.origin.saturating_mul(width);
                let first = descriptor.byte_offset().saturating_mul(8).saturating_sub(below);
                bits::Bits { first, width }
            };
            let (from, to) = (side(&self.source, from), side(&self.target, to));
            bits::run(&pair, from, to, source, target);
            return Ok(());
        }
        let width = u64::from(self.source.dtype().bits() >> 3);
        // From the lowest element on.
        let below = from.origin.saturating_mul(width);
        let start = crate::as_index(self.source.byte_offset().saturating_sub(below));
        let source = source.get(start..).unwrap_or(&[]);
        match width {
            1 => pair.run::<[u8; 1], 16>(source.as_chunks().0, target.as_chunks_mut().0),
            2 => pair.run::<[u8; 2], 8>(source.as_chunks().0, target.as_chunks_mut().0),
            4 => pair.run::<[u8; 4], 8>(source.as_chunks().0, target.as_chunks_mut().0),
            8 => pair.run::<[u8; 8], 4>(source.as_chunks().0, target.as_chunks_mut().0),
            _ => pair.run::<[u8; 16], 4>(source.as_chunks().0, target.as_chunks_mut().0),
        }
        Ok(())
    }
}

/// The source in another layout, in a buffer that is as long as that takes.
fn target(source: &Descriptor, layout: &Layout) -> Result<Descriptor> {
    if source.is_dynamic() {
        let rule = Rule::DescriptorUnresolved;
        return Err(Error::new(rule, "shape", 20, Value::None, Expected::Unsaid));
    }
    // Far enough from both ends to be measured from.
    const MIDDLE: u64 = 1 << 62;
    let reach = layout.extent(source.dtype(), &List::new(source.shape()), MIDDLE);
    let (byte_offset, size) = match reach {
        Some(reach) if reach.is_empty() => (0, 0),
        Some(reach) => (MIDDLE.saturating_sub(reach.start), reach.end.saturating_sub(reach.start)),
        None => return Err(too_large(u64::MAX)),
    };
    let own = std::iter::once(BufferHandle::cpu(size));
    let handles = own.chain(source.buffers().iter().skip(1).copied());
    source.rebuild().layout(layout.clone()).byte_offset(byte_offset).buffers(handles).build()
}

fn check_length(found: usize, needed: u64) -> Result<()> {
    if crate::as_u64(found) >= needed {
        return Ok(());
    }
    let (found, expected) = (Value::Unsigned(crate::as_u64(found)), Expected::AtLeast(needed));
    Err(Error::new(Rule::MemorySize, "byte_size", 0, found, expected))
}

#[cold]
fn too_large(size: u64) -> Error {
    Error::new(Rule::MemoryTooLarge, "byte_size", 0, Value::Unsigned(size), Expected::Unsaid)
}
