//! Tensors of a producer that keeps the header's rules to the letter: what is released is freed.

use std::cell::UnsafeCell;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use hurray_tensor::exchange::raw::*;
use hurray_tensor::format::{
    BufferHandle, CompositeHead, Composition, Coo, Descriptor, DeviceTag, Dtype, Layout,
    MemoryClass, SyncMode,
};

use super::released::{
    BufferContext, Lines, Made, Once, TensorContext, release_buffer, release_event, release_tensor,
};

pub(crate) const KINDS: usize = 8;
/// Two members, alike.
pub(crate) const TWINS: usize = 5;
/// Two buffers with the same handle.
pub(crate) const ALIKE: usize = 6;
/// Two members, each with an event that allows one wait.
pub(crate) const WAITING: usize = 7;

pub(crate) struct Graph {
    /// Every struct; the first is the outermost, which is the holder's own.
    pub(crate) tensors: Vec<*mut HurrayTensor>,
    pub(crate) buffers: Vec<*mut HurrayBuffer>,
    pub(crate) onces: Vec<Arc<Once>>,
    /// How many buffers and members each tensor really has.
    pub(super) counts: Vec<(usize, usize)>,
    /// Whether structs of members may be freed.
    pub(super) members_gone: bool,
    /// Whether some tensor names a buffer that another frees.
    pub(super) is_tangled: bool,
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
            is_tangled: false,
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
        // However many a tensor says: a table of a descriptor has no more.
        let mut buffer_list = buffers.clone();
        buffer_list.resize(256, ptr::null_mut());
        // The first that is missing is the end.
        let mut member_list = members.clone();
        member_list.push(ptr::null_mut());
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

    /// Entry `place` of a tensor's buffers becomes a buffer that is somebody's already.
    pub(crate) fn name_again(&self, tensor: usize, place: usize, buffer: usize) {
        // SAFETY: the list is there until the tensor is released.
        unsafe { *(*self.tensors[tensor]).buffers.add(place) = self.buffers[buffer] }
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
