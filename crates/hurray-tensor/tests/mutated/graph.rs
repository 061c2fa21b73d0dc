//! Tensors of a producer that keeps the header's rules to the letter: what is released is freed.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::exchange::raw::*;
use hurray_tensor::format::{
    BufferHandle, CompositeHead, Composition, Coo, Descriptor, DeviceTag, Dtype, Layout,
    MemoryClass, SyncMode,
};

use super::Wrong;

pub(crate) const KINDS: usize = 8;
/// Two members, alike.
pub(crate) const TWINS: usize = 5;
/// Two buffers with the same handle.
pub(crate) const ALIKE: usize = 6;
/// Two members, each with an event that allows one wait.
pub(crate) const WAITING: usize = 7;

/// How often each thing was released. It outlives all of them.
pub(crate) struct Once {
    pub(crate) name: &'static str,
    times: AtomicUsize,
}

impl Once {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, times: AtomicUsize::new(0) })
    }

    fn count(&self) {
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

/// What is behind a tensor's struct. It is kept to the end of the test, what it made is not.
pub(crate) struct TensorContext {
    once: Arc<Once>,
    /// What is to be freed: the struct of each buffer and member, and the arrays.
    made: UnsafeCell<Option<Made>>,
}

struct Made {
    _descriptor: Vec<u8>,
    _buffer_list: Vec<*mut HurrayBuffer>,
    _member_list: Vec<*mut HurrayTensor>,
    buffers: Vec<*mut HurrayBuffer>,
    members: Vec<*mut HurrayTensor>,
}

/// What is behind a buffer's struct.
pub(crate) struct BufferContext {
    pub(crate) once: Arc<Once>,
    pub(crate) event: Option<Arc<Once>>,
    memory: UnsafeCell<Option<Vec<Lines>>>,
}

#[repr(align(4096))]
pub(crate) struct Lines([u8; 4096]);

pub(crate) struct Graph {
    /// Every struct; the first is the outermost, which is the holder's own.
    pub(crate) tensors: Vec<*mut HurrayTensor>,
    pub(crate) buffers: Vec<*mut HurrayBuffer>,
    pub(crate) onces: Vec<Arc<Once>>,
    /// How many buffers and members each tensor really has.
    counts: Vec<(usize, usize)>,
    /// Whether structs of members may be freed.
    members_gone: bool,
    _tensor_contexts: Vec<Rc<TensorContext>>,
    pub(crate) buffer_contexts: Vec<Arc<BufferContext>>,
}

#[derive(Clone, Copy)]
enum Sync {
    Ready,
    Event(u8),
    Stream,
}

impl Graph {
    pub(crate) fn new(kind: usize) -> Self {
        let mut graph = Self {
            tensors: Vec::new(),
            buffers: Vec::new(),
            onces: Vec::new(),
            counts: Vec::new(),
            members_gone: false,
            _tensor_contexts: Vec::new(),
            buffer_contexts: Vec::new(),
        };
        let outer = match kind {
            0 => graph.dense(&[Sync::Ready], DeviceTag::CPU),
            1 => graph.coo([Sync::Ready, Sync::Ready], DeviceTag::CPU),
            TWINS => {
                let twins = [(); 2].map(|()| graph.dense(&[Sync::Ready], DeviceTag::CPU));
                graph.head(twins.to_vec())
            }
            ALIKE => graph.alike(),
            WAITING => {
                let syncs = [Sync::Event(EVENT_BINARY), Sync::Event(EVENT_TIMELINE)];
                let members = [(); 2].map(|()| graph.coo(syncs, CUDA));
                graph.head(members.to_vec())
            }
            2 => graph.coo([Sync::Event(EVENT_BINARY), Sync::Event(EVENT_TIMELINE)], CUDA),
            3 => graph.coo([Sync::Event(EVENT_MULTI_WAIT), Sync::Stream], CUDA),
            _ => {
                let first = graph.dense(&[Sync::Ready], DeviceTag::CPU);
                let second = graph.coo([Sync::Ready, Sync::Ready], DeviceTag::CPU);
                let inner = graph.head(vec![second]);
                graph.head(vec![first, inner])
            }
        };
        graph.tensors.insert(0, Box::into_raw(Box::new(outer)));
        let counts = |raw: &*mut HurrayTensor| {
            // SAFETY: made just now.
            let raw = unsafe { **raw };
            (raw.buffer_count as usize, raw.member_count as usize)
        };
        graph.counts = graph.tensors.iter().map(counts).collect();
        graph
    }

    fn dense(&mut self, syncs: &[Sync], device: DeviceTag) -> HurrayTensor {
        let handles = [handle(16, device, syncs[0])];
        let descriptor = Descriptor::builder(Dtype::Float32, &[2, 2]).buffers(handles);
        self.tensor(descriptor.build().unwrap(), syncs, Vec::new())
    }

    fn coo(&mut self, syncs: [Sync; 2], device: DeviceTag) -> HurrayTensor {
        let layout = Layout::Coo(Coo { nnz: 2, is_sorted: true });
        let handles = [handle(2, device, syncs[0]), handle(32, device, syncs[1])];
        let descriptor = Descriptor::builder(Dtype::UInt8, &[10, 10]).layout(layout);
        self.tensor(descriptor.buffers(handles).build().unwrap(), &syncs, Vec::new())
    }

    fn alike(&mut self) -> HurrayTensor {
        let layout = Layout::Coo(Coo { nnz: 2, is_sorted: true });
        let handles = [handle(32, DeviceTag::CPU, Sync::Ready); 2];
        let descriptor = Descriptor::builder(Dtype::Complex128, &[10, 10]).layout(layout);
        let descriptor = descriptor.buffers(handles).build().unwrap();
        self.tensor(descriptor, &[Sync::Ready; 2], Vec::new())
    }

    fn head(&mut self, members: Vec<HurrayTensor>) -> HurrayTensor {
        let member_count = members.len() as u32;
        let head = CompositeHead { composition: Composition::Group, member_count };
        let descriptor = Descriptor::builder(Dtype::Float32, &[2, 2]);
        let descriptor = descriptor.layout(Layout::Composite(head)).build().unwrap();
        self.tensor(descriptor, &[], members)
    }

    fn tensor(
        &mut self,
        descriptor: Descriptor,
        syncs: &[Sync],
        members: Vec<HurrayTensor>,
    ) -> HurrayTensor {
        let buffers: Vec<_> = descriptor
            .buffers()
            .iter()
            .zip(syncs)
            .map(|(handle, sync)| self.buffer(*handle, *sync))
            .collect();
        let members: Vec<_> =
            members.into_iter().map(|member| Box::into_raw(Box::new(member))).collect();
        self.tensors.extend(&members);
        let mut descriptor = descriptor.encode();
        let mut buffer_list = buffers.clone();
        let mut member_list = members.clone();
        let once = self.once("tensor");
        let mut raw = HurrayTensor {
            abi_version: ABI_VERSION,
            struct_size: size_of::<HurrayTensor>() as u32,
            release: Some(release_tensor),
            private_data: ptr::null_mut(),
            descriptor: descriptor.as_mut_ptr(),
            descriptor_length: descriptor.len() as u64,
            buffer_count: buffers.len() as u64,
            buffers: buffer_list.as_mut_ptr(),
            member_count: members.len() as u64,
            members: member_list.as_mut_ptr(),
            flags: 0,
        };
        let made = Made {
            _descriptor: descriptor,
            _buffer_list: buffer_list,
            _member_list: member_list,
            buffers,
            members,
        };
        let context = Rc::new(TensorContext { once, made: UnsafeCell::new(Some(made)) });
        raw.private_data = Rc::as_ptr(&context).cast_mut().cast();
        self._tensor_contexts.push(context);
        raw
    }

    fn buffer(&mut self, handle: BufferHandle, sync: Sync) -> *mut HurrayBuffer {
        let once = self.once("buffer");
        let event = matches!(sync, Sync::Event(_)).then(|| self.once("event"));
        let mut memory = vec![Lines([0; 4096])];
        // The indices of two entries, in order.
        memory[0].0[16] = 1;
        let host: *mut u8 = memory.as_mut_ptr().cast();
        let context = BufferContext { once, event, memory: UnsafeCell::new(Some(memory)) };
        let context = Arc::new(context);
        // SAFETY: zeros are a value of every field.
        let mut raw: HurrayBuffer = unsafe { std::mem::zeroed() };
        raw.abi_version = ABI_VERSION;
        raw.struct_size = size_of::<HurrayBuffer>() as u32;
        raw.release = Some(release_buffer);
        raw.private_data = Arc::as_ptr(&context).cast_mut().cast();
        raw.handle = handle.encode();
        (raw.host, raw.address) = (host.cast(), host.addr() as u64);
        (raw.queue_family, raw.queue_family_to) = (NO_QUEUE_FAMILY, NO_QUEUE_FAMILY);
        raw.sync.device_tag = handle.device().tag();
        match sync {
            Sync::Ready => {}
            Sync::Stream => raw.sync.stream = 7,
            Sync::Event(kind) => {
                raw.sync.event_kind = kind;
                raw.sync.event = 1000 + self.buffers.len() as u64;
                raw.sync.event_value = u64::from(kind == EVENT_TIMELINE) * 5;
                raw.sync.release_event = Some(release_event);
                raw.sync.event_context = raw.private_data;
            }
        }
        self.buffer_contexts.push(context);
        let raw = Box::into_raw(Box::new(raw));
        self.buffers.push(raw);
        raw
    }

    fn once(&mut self, name: &'static str) -> Arc<Once> {
        let once = Once::new(name);
        self.onces.push(Arc::clone(&once));
        once
    }

    /// The outermost struct.
    #[allow(clippy::mut_from_ref, reason = "a struct behind a pointer, used by one test alone")]
    pub(crate) fn outer(&self) -> &mut HurrayTensor {
        let outer = self.tensors[0];
        // SAFETY: it is freed with the graph.
        unsafe { &mut *outer }
    }

    pub(crate) fn descriptor_length(&self, tensor: usize) -> usize {
        // SAFETY: a struct that is not released.
        unsafe { (*self.tensors[tensor]).descriptor_length as usize }
    }

    pub(crate) fn entries(&self, tensor: usize) -> usize {
        let (buffers, members) = self.counts[tensor];
        buffers + members
    }

    /// Everything was released, once.
    pub(crate) fn expect_released(&self, what: &str) {
        assert!(self.outer().release.is_none(), "{what}");
        for once in &self.onces {
            assert_eq!(once.times(), 1, "{}: {what}", once.name);
        }
    }

    pub(crate) fn make_wrong(&mut self, wrong: Wrong) {
        if self.members_gone {
            return;
        }
        match wrong {
            // SAFETY: the structs are there, not released, and numbers may be any.
            Wrong::TensorBit { tensor, bit } => unsafe { flip(self.tensors[tensor].cast(), bit) },
            // SAFETY: as above.
            Wrong::BufferBit { buffer, bit } => unsafe { flip(self.buffers[buffer].cast(), bit) },
            Wrong::BufferReleased { buffer } => {
                let raw = self.buffers[buffer];
                // SAFETY: as above. Memory of a buffer that is released may be gone.
                if let Some(release) = unsafe { (*raw).release } {
                    // SAFETY: not released.
                    unsafe { release(raw) }
                }
            }
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
                    2 => raw.buffers = raw.buffers.wrapping_byte_add(1),
                    _ => raw.members = raw.members.wrapping_byte_add(4),
                }
            }
            Wrong::Entry { tensor, place, which } => self.entry(tensor, place, which),
        }
    }

    /// Entry `place` of a tensor's buffers becomes a buffer that is somebody's already.
    pub(crate) fn name_again(&self, tensor: usize, place: usize, buffer: usize) {
        // SAFETY: the list is there until the tensor is released.
        unsafe { *(*self.tensors[tensor]).buffers.add(place) = self.buffers[buffer] }
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
                match which {
                    0 => *entry = ptr::null_mut(),
                    1 => *entry = entry.wrapping_byte_add(4),
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
                    1 => *entry = entry.wrapping_byte_add(4),
                    2 => *entry = first,
                    3 => *entry = outer,
                    _ => *entry = self.tensors[tensor],
                }
            }
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let outer = self.tensors[0];
        // SAFETY: the struct is the graph's.
        if let Some(release) = unsafe { (*outer).release } {
            // SAFETY: not released.
            unsafe { release(outer) }
        }
        // SAFETY: made by `new`.
        drop(unsafe { Box::from_raw(outer) });
    }
}

const CUDA: DeviceTag = DeviceTag::CUDA;

fn handle(size: u64, device: DeviceTag, sync: Sync) -> BufferHandle {
    let sync = match sync {
        Sync::Ready => SyncMode::PRODUCER_SYNCED,
        Sync::Event(_) => SyncMode::EVENT,
        Sync::Stream => SyncMode::CONSUMER_STREAM,
    };
    let class = if device == CUDA { MemoryClass::UNIFIED } else { MemoryClass::STANDARD };
    BufferHandle::new(size, 64, device, sync, class).unwrap()
}

/// # Safety
///
/// The byte must be there, and nobody else use it.
unsafe fn flip(first: *mut u8, bit: usize) {
    // SAFETY: the caller's.
    unsafe { *first.add(bit / 8) ^= 1 << (bit % 8) }
}

pub(crate) unsafe extern "C" fn release_tensor(it: *mut HurrayTensor) {
    // Only the first four fields may be read.
    // SAFETY: by the header's rules.
    let context = unsafe { (*it).private_data.cast::<TensorContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release.take() }.is_some(), "released twice");
    // SAFETY: contexts stay to the end of the test.
    let context = unsafe { &*context };
    context.once.count();
    // SAFETY: whoever releases is the only one.
    let Some(made) = (unsafe { (*context.made.get()).take() }) else {
        return;
    };
    for buffer in &made.buffers {
        // SAFETY: the struct is there until now; what was moved out or released says so.
        unsafe {
            if let Some(release) = (**buffer).release {
                release(*buffer);
            }
            drop(Box::from_raw(*buffer));
        }
    }
    for member in &made.members {
        // SAFETY: as above.
        unsafe {
            if let Some(release) = (**member).release {
                release(*member);
            }
            drop(Box::from_raw(*member));
        }
    }
}

unsafe extern "C" fn release_buffer(it: *mut HurrayBuffer) {
    // SAFETY: by the header's rules.
    let context = unsafe { &*(*it).private_data.cast::<BufferContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release.take() }.is_some(), "released twice");
    context.once.count();
    if let Some(event) = &context.event
        && event.times() == 0
    {
        event.count();
    }
    // SAFETY: whoever releases is the only one.
    drop(unsafe { (*context.memory.get()).take() });
}

unsafe extern "C" fn release_event(it: *mut HurraySync) {
    // SAFETY: by the header's rules.
    let context = unsafe { &*(*it).event_context.cast::<BufferContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release_event.take() }.is_some(), "released twice");
    assert_eq!(context.once.times(), 0, "an event was released after its buffer");
    context.event.as_ref().unwrap().count();
}

/// Where the memory of a buffer really is; null where it is gone.
pub(crate) fn memory_of(context: &BufferContext) -> *const c_void {
    // SAFETY: nobody releases meanwhile.
    match unsafe { &*context.memory.get() } {
        Some(lines) => lines.as_ptr().cast(),
        None => ptr::null(),
    }
}
