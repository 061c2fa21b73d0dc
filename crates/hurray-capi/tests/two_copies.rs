//! Two copies of the library in one process, and a third inside this program: none knows of the
//! others, and tensors go between them by the structs alone.

#![cfg(unix)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "libraries are loaded, and called as C calls them")]

mod support;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use ::hurray_tensor::exchange::raw::HurrayTensor;
use hurray::builder::{hurray_builder, hurray_builder_free, hurray_builder_new};
use hurray::exchange::{hurray_tensor_export, hurray_tensor_import};
use hurray::tensor::{
    HurrayMemory, HurrayRegion, hurray_tensor, hurray_tensor_build, hurray_tensor_free,
    hurray_tensor_region,
};
use libloading::Library;

/// The calls of one copy that this test needs.
struct Copy {
    export: unsafe extern "C" fn(*const hurray_tensor, *mut HurrayTensor) -> i32,
    import: unsafe extern "C" fn(*mut HurrayTensor, *const c_void, *mut *mut hurray_tensor) -> i32,
    region: unsafe extern "C" fn(*const hurray_tensor, usize, *mut HurrayRegion) -> i32,
    free: unsafe extern "C" fn(*mut hurray_tensor),
    /// Stays loaded for as long as its callbacks may be called.
    library: Library,
}

impl Copy {
    fn load(name: &str) -> Self {
        let built = support::library_folder().join("libhurray.so");
        let copied = support::library_folder().join(name);
        std::fs::copy(built, &copied).unwrap();
        // SAFETY: the library's own start and end are those of Rust's standard library.
        let library = unsafe { Library::new(&copied) }.unwrap();
        // SAFETY: the header declares it so; here and below. None outlives `library`, beside which
        // it is kept.
        let export = unsafe { library.get(b"hurray_tensor_export") };
        // SAFETY: as above.
        let import = unsafe { library.get(b"hurray_tensor_import") };
        // SAFETY: as above.
        let region = unsafe { library.get(b"hurray_tensor_region") };
        // SAFETY: as above.
        let free = unsafe { library.get(b"hurray_tensor_free") };
        Self {
            export: *export.unwrap(),
            import: *import.unwrap(),
            region: *region.unwrap(),
            free: *free.unwrap(),
            library,
        }
    }

    /// Hands a tensor over, which is let go of here.
    fn hand_to(&self, tensor: *mut hurray_tensor, other: &Self) -> *mut hurray_tensor {
        // SAFETY: zeros are a value of every field.
        let mut out: HurrayTensor = unsafe { std::mem::zeroed() };
        out.struct_size = u32::try_from(size_of::<HurrayTensor>()).unwrap();
        let mut taken = ptr::null_mut();
        // SAFETY: a tensor of this copy, and room for all of the struct.
        assert_eq!(unsafe { (self.export)(tensor, &raw mut out) }, 0);
        // SAFETY: as above; it is used no more.
        unsafe { (self.free)(tensor) };
        // SAFETY: what the call above filled, and whose memory is what it says.
        assert_eq!(unsafe { (other.import)(&raw mut out, ptr::null(), &raw mut taken) }, 0);
        assert!(out.release.is_none());
        taken
    }

    fn host(&self, tensor: *const hurray_tensor) -> *const c_void {
        // SAFETY: zeros are a value of every field.
        let mut region: HurrayRegion = unsafe { std::mem::zeroed() };
        region.struct_size = u32::try_from(size_of::<HurrayRegion>()).unwrap();
        // SAFETY: a tensor of this copy, and a form beside the call.
        assert_eq!(unsafe { (self.region)(tensor, 0, &raw mut region) }, 0);
        region.host
    }
}

/// The copy that this program is linked with.
fn own(library: Library) -> Copy {
    unsafe extern "C" fn import(
        from: *mut HurrayTensor,
        accept: *const c_void,
        tensor: *mut *mut hurray_tensor,
    ) -> i32 {
        // SAFETY: the same call, but for what it calls the same pointer.
        unsafe { hurray_tensor_import(from, accept.cast(), tensor) }
    }
    Copy {
        export: hurray_tensor_export,
        import,
        region: hurray_tensor_region,
        free: hurray_tensor_free,
        library,
    }
}

static RELEASED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn let_go(_: *mut c_void) {
    RELEASED.fetch_add(1, Ordering::SeqCst);
}

#[repr(align(64))]
struct Aligned([u8; 64]);

#[test]
fn copies_of_the_library_exchange_tensors() {
    let (first, second) = (Copy::load("first.so"), Copy::load("second.so"));
    assert!(first.free as usize != second.free as usize, "one copy was loaded twice");
    let own = own(Library::from(libloading::os::unix::Library::this()));

    let mut bytes = Aligned([7; 64]);
    let memory = HurrayMemory {
        data: bytes.0.as_mut_ptr().cast(),
        length: 64,
        flags: 0,
        release: Some(let_go),
        context: ptr::null_mut(),
    };
    let mut builder: *mut hurray_builder = ptr::null_mut();
    let mut tensor = ptr::null_mut();
    let shape = [64];
    // SAFETY: a size for the one dimension, and room for the pointer.
    let made =
        unsafe { hurray_builder_new(0x11, ptr::null(), shape.as_ptr(), 1, &raw mut builder) };
    assert_eq!(made, 0);
    // SAFETY: made just now; the memory lives to the end of the test.
    let built = unsafe { hurray_tensor_build(builder, &raw const memory, 1, &raw mut tensor) };
    assert_eq!(built, 0);
    // SAFETY: it is used no more.
    unsafe { hurray_builder_free(builder) };

    // Around, each holding what the one before handed over, and nothing copied.
    let mut holder = &own;
    for next in [&first, &second, &own, &second, &first] {
        tensor = holder.hand_to(tensor, next);
        holder = next;
        assert_eq!(holder.host(tensor), bytes.0.as_ptr().cast());
        assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    }
    // Released by yet another thread.
    let tensor = tensor.expose_provenance();
    let free = holder.free;
    // SAFETY: a tensor of that copy, which is used no more.
    let freeing = move || unsafe { free(ptr::with_exposed_provenance_mut(tensor)) };
    std::thread::spawn(freeing).join().unwrap();
    assert_eq!(RELEASED.load(Ordering::SeqCst), 1);
    for copy in [first, second, own] {
        drop(copy.library);
    }
}
