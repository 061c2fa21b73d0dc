//! What can be wrong with the structs of a graph.

use std::mem::offset_of;
use std::ptr;

use hurray_tensor::exchange::raw::{HurrayBuffer, HurraySync, HurrayTensor};

use super::choice::Choice;
use super::graph::Graph;

/// Where a struct has pointers, and what says how much is behind one: those are broken one by one
/// below.
const BOUND_OF_A_TENSOR: [usize; 6] = [
    offset_of!(HurrayTensor, release),
    offset_of!(HurrayTensor, private_data),
    offset_of!(HurrayTensor, descriptor),
    offset_of!(HurrayTensor, descriptor_length),
    offset_of!(HurrayTensor, buffers),
    offset_of!(HurrayTensor, members),
];
const SYNC: usize = offset_of!(HurrayBuffer, sync);
const BOUND_OF_A_BUFFER: [usize; 5] = [
    offset_of!(HurrayBuffer, release),
    offset_of!(HurrayBuffer, private_data),
    SYNC + offset_of!(HurraySync, release_event),
    SYNC + offset_of!(HurraySync, event_context),
    offset_of!(HurrayBuffer, release_after),
];

/// One thing that is wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    /// A bit of the struct of a tensor, counted over the graph.
    TensorBit {
        tensor: usize,
        bit: usize,
    },
    BufferBit {
        buffer: usize,
        bit: usize,
    },
    /// Eight bytes of a struct, from word `at` on.
    TensorWord {
        tensor: usize,
        at: usize,
        word: u64,
    },
    BufferWord {
        buffer: usize,
        at: usize,
        word: u64,
    },
    DescriptorByte {
        tensor: usize,
        at: usize,
        byte: u8,
    },
    DescriptorBit {
        tensor: usize,
        bit: usize,
    },
    DescriptorLength {
        tensor: usize,
        length: u64,
    },
    NoDescriptor {
        tensor: usize,
    },
    Arrays {
        tensor: usize,
        which: u8,
    },
    Entry {
        tensor: usize,
        place: usize,
        which: u8,
    },
    /// It was released before.
    BufferReleased {
        buffer: usize,
    },
    MemberReleased {
        tensor: usize,
    },
    NoEventRelease {
        buffer: usize,
    },
}

/// What no descriptor is long.
const TOO_LONG: [u64; 3] = [u64::MAX, 1 << 63, u32::MAX as u64];

/// The words of a struct that may be anything.
fn free(size: usize, bound: &[usize]) -> Vec<usize> {
    (0..size / 8).filter(|word| !bound.contains(&(word * 8))).collect()
}

/// Every one thing that can be wrong, but for what numbers a struct may have besides.
pub(crate) fn wrongs_of(graph: &Graph) -> Vec<Wrong> {
    let mut all = Vec::new();
    let bits = |size: usize, bound: &[usize]| -> Vec<usize> {
        free(size, bound).into_iter().flat_map(|at| at * 64..at * 64 + 64).collect()
    };
    for tensor in 0..graph.tensors.len() {
        for bit in bits(size_of::<HurrayTensor>(), &BOUND_OF_A_TENSOR) {
            all.push(Wrong::TensorBit { tensor, bit });
        }
        let length = graph.descriptor_length(tensor);
        all.extend((0..length * 8).map(|bit| Wrong::DescriptorBit { tensor, bit }));
        let lengths = (0..length as u64).chain(TOO_LONG);
        all.extend(lengths.map(|length| Wrong::DescriptorLength { tensor, length }));
        all.push(Wrong::NoDescriptor { tensor });
        all.extend((0..4).map(|which| Wrong::Arrays { tensor, which }));
        let entries = graph.entries(tensor);
        for place in 0..entries {
            all.extend((0..5).map(|which| Wrong::Entry { tensor, place, which }));
        }
        if tensor != 0 {
            all.push(Wrong::MemberReleased { tensor });
        }
    }
    for buffer in 0..graph.buffers.len() {
        for bit in bits(size_of::<HurrayBuffer>(), &BOUND_OF_A_BUFFER) {
            all.push(Wrong::BufferBit { buffer, bit });
        }
        all.push(Wrong::BufferReleased { buffer });
        all.push(Wrong::NoEventRelease { buffer });
    }
    all
}

impl Wrong {
    /// Anything that can be wrong with a graph of which nothing is released.
    pub(crate) fn any(graph: &Graph, choice: &mut impl Choice) -> Self {
        let (tensor, buffer) =
            (choice.below(graph.tensors.len()), choice.below(graph.buffers.len()));
        let length = graph.descriptor_length(tensor);
        match choice.below(12) {
            0 => {
                let at = choice.of(&free(size_of::<HurrayTensor>(), &BOUND_OF_A_TENSOR));
                Self::TensorWord { tensor, at, word: choice.any() }
            }
            1 | 2 => {
                let at = choice.of(&free(size_of::<HurrayBuffer>(), &BOUND_OF_A_BUFFER));
                Self::BufferWord { buffer, at, word: choice.any() }
            }
            3 => {
                let at = choice.of(&free(size_of::<HurrayTensor>(), &BOUND_OF_A_TENSOR));
                Self::TensorBit { tensor, bit: at * 64 + choice.below(64) }
            }
            4 => {
                let at = choice.of(&free(size_of::<HurrayBuffer>(), &BOUND_OF_A_BUFFER));
                Self::BufferBit { buffer, bit: at * 64 + choice.below(64) }
            }
            5 | 6 => {
                let (at, byte) = (choice.below(length), choice.below(256) as u8);
                Self::DescriptorByte { tensor, at, byte }
            }
            7 => match choice.below(length + TOO_LONG.len()) {
                short if short < length => Self::DescriptorLength { tensor, length: short as u64 },
                long => Self::DescriptorLength { tensor, length: TOO_LONG[long - length] },
            },
            8 => match choice.below(5) {
                0 => Self::NoDescriptor { tensor },
                which => Self::Arrays { tensor, which: which as u8 - 1 },
            },
            9 if graph.entries(tensor) > 0 => {
                let place = choice.below(graph.entries(tensor));
                Self::Entry { tensor, place, which: choice.below(5) as u8 }
            }
            10 if tensor != 0 => Self::MemberReleased { tensor },
            11 => Self::NoEventRelease { buffer },
            _ => Self::BufferReleased { buffer },
        }
    }
}

impl Graph {
    pub(crate) fn make_wrong(&mut self, wrong: Wrong) {
        if self.members_gone {
            return;
        }
        match wrong {
            // SAFETY: the structs are there, not released, and numbers may be any.
            Wrong::TensorBit { tensor, bit } => unsafe { flip(self.tensors[tensor].cast(), bit) },
            // SAFETY: as above.
            Wrong::BufferBit { buffer, bit } => unsafe { flip(self.buffers[buffer].cast(), bit) },
            Wrong::TensorWord { tensor, at, word } => {
                let first = self.tensors[tensor].cast::<u64>();
                // SAFETY: as above; words are numbers.
                unsafe { *first.add(at) = word }
            }
            Wrong::BufferWord { buffer, at, word } => {
                let first = self.buffers[buffer].cast::<u64>();
                // SAFETY: as above.
                unsafe { *first.add(at) = word }
            }
            Wrong::DescriptorByte { tensor, at, byte } => {
                let raw = self.of_tensor(tensor);
                if !raw.descriptor.is_null() {
                    // SAFETY: as many bytes are there, however many the struct says.
                    unsafe { *raw.descriptor.cast_mut().add(at) = byte }
                }
            }
            Wrong::BufferReleased { buffer } => {
                let raw = self.buffers[buffer];
                // SAFETY: as above. Memory of a buffer that is released may be gone.
                if let Some(release) = unsafe { (*raw).release } {
                    // SAFETY: not released.
                    unsafe { release(raw) }
                }
            }
            // What it frees is not to be named elsewhere: that no consumer can see.
            Wrong::MemberReleased { .. } if self.is_tangled => {}
            Wrong::MemberReleased { tensor } => {
                let raw = self.tensors[tensor];
                self.members_gone = true;
                // SAFETY: as above.
                if let Some(release) = unsafe { (*raw).release } {
                    // SAFETY: not released.
                    unsafe { release(raw) }
                }
            }
            Wrong::NoEventRelease { buffer } => {
                let raw = self.buffers[buffer];
                // SAFETY: as above. It was released by its buffer's release, or will be.
                unsafe { (*raw).sync.release_event = None }
            }
            Wrong::DescriptorBit { tensor, bit } => {
                let raw = self.of_tensor(tensor);
                if !raw.descriptor.is_null() {
                    // SAFETY: the bytes are there, however many the struct says.
                    unsafe { flip(raw.descriptor.cast_mut(), bit) }
                }
            }
            Wrong::DescriptorLength { tensor, length } => {
                self.of_tensor(tensor).descriptor_length = length;
            }
            Wrong::NoDescriptor { tensor } => self.of_tensor(tensor).descriptor = ptr::null(),
            Wrong::Arrays { tensor, which } => {
                let raw = self.of_tensor(tensor);
                match which {
                    0 => raw.buffers = ptr::null_mut(),
                    1 => raw.members = ptr::null_mut(),
                    2 => raw.buffers = raw.buffers.map_addr(|at| at | 1),
                    _ => raw.members = raw.members.map_addr(|at| at | 4),
                }
            }
            Wrong::Entry { tensor, place, which } => self.entry(tensor, place, which),
        }
    }

    fn of_tensor(&mut self, tensor: usize) -> &mut HurrayTensor {
        // SAFETY: the structs stay until the outermost is released.
        unsafe { &mut *self.tensors[tensor] }
    }

    fn entry(&mut self, tensor: usize, place: usize, which: u8) {
        let outer = self.tensors[0];
        let raw = *self.of_tensor(tensor);
        let is_there = |list: usize| list.is_multiple_of(8) && list != 0;
        if raw.release.is_none() {
            return;
        }
        if place < self.counts[tensor].0 {
            if is_there(raw.buffers.addr()) {
                // SAFETY: the list is there, as long as it says.
                let entry = unsafe { &mut *raw.buffers.add(place) };
                // SAFETY: as above.
                let first = unsafe { *raw.buffers };
                self.is_tangled |= which > 2;
                match which {
                    0 => *entry = ptr::null_mut(),
                    1 => *entry = entry.map_addr(|at| at | 4),
                    2 => *entry = first,
                    // One that lies elsewhere in the graph.
                    3 => *entry = self.buffers[0],
                    _ => *entry = self.buffers[self.buffers.len() - 1],
                }
            }
        } else {
            if is_there(raw.members.addr()) {
                // SAFETY: as above.
                let entry = unsafe { &mut *raw.members.add(place) };
                // SAFETY: as above.
                let first = unsafe { *raw.members };
                match which {
                    0 => *entry = ptr::null_mut(),
                    1 => *entry = entry.map_addr(|at| at | 4),
                    2 => *entry = first,
                    3 => *entry = outer,
                    _ => *entry = self.tensors[tensor],
                }
            }
        }
    }
}

/// # Safety
///
/// The byte must be there, and nobody else use it.
unsafe fn flip(first: *mut u8, bit: usize) {
    // SAFETY: the caller's.
    unsafe { *first.add(bit / 8) ^= 1 << (bit % 8) }
}
