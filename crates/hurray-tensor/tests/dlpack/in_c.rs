//! Against C, which knows DLPack by its authors' header alone.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use hurray_tensor::Tensor;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{DeviceTag, Dtype, MemoryClass, Rule};
use libloading::{Library, Symbol};

use crate::producer::elements;

/// Compiles `peer.c` as a program or a library.
fn compile(name: &str, more: &[&str]) -> PathBuf {
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dlpack");
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1"]).args(more);
    command.arg("-I").arg(&folder).arg("-o").arg(&compiled).arg(folder.join("peer.c"));
    run(&mut command);
    compiled
}

fn run(command: &mut Command) -> String {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("cannot run {command:?}: {error}; this test needs a C compiler"),
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

#[test]
fn every_field_is_where_c_puts_it() {
    let printed = run(&mut Command::new(compile("dlpack-layout", &[])));
    let mut printed: BTreeMap<&str, usize> = printed
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, number)| (name, number.parse().unwrap()))
        .collect();
    macro_rules! same {
        ($($type:ident { $($field:ident)* })*) => {$(
            assert_eq!(printed.remove(stringify!($type)), Some(size_of::<$type>()));
            $(assert_eq!(
                printed.remove(concat!(stringify!($type), ".", stringify!($field))),
                Some(offset_of!($type, $field))
            );)*
        )*};
    }
    same! {
        DLPackVersion { major minor }
        DLDevice { device_type device_id }
        DLDataType { code bits lanes }
        DLTensor { data device ndim dtype shape strides byte_offset }
        DLManagedTensor { dl_tensor manager_ctx deleter }
        DLManagedTensorVersioned { version manager_ctx deleter flags dl_tensor }
    }
    let device = |tag, class| device_type(tag, class).unwrap() as usize;
    let code = |dtype| usize::from(data_type(dtype).unwrap().code);
    let (standard, pinned) = (MemoryClass::STANDARD, MemoryClass::HOST_PINNED);
    let constants = [
        ("DLPACK_MAJOR_VERSION", MAJOR_VERSION as usize),
        ("DLPACK_MINOR_VERSION", MINOR_VERSION as usize),
        ("DLPACK_FLAG_BITMASK_READ_ONLY", FLAG_READ_ONLY as usize),
        ("DLPACK_FLAG_BITMASK_IS_COPIED", FLAG_IS_COPIED as usize),
        ("DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED", FLAG_SUBBYTE_PADDED as usize),
        ("kDLCPU", device(DeviceTag::CPU, standard)),
        ("kDLCUDA", device(DeviceTag::CUDA, standard)),
        ("kDLCUDAHost", device(DeviceTag::CUDA, pinned)),
        ("kDLCUDAManaged", device(DeviceTag::CUDA, MemoryClass::UNIFIED)),
        ("kDLROCM", device(DeviceTag::ROCM, standard)),
        ("kDLROCMHost", device(DeviceTag::ROCM, pinned)),
        ("kDLMetal", device(DeviceTag::METAL, standard)),
        ("kDLVulkan", device(DeviceTag::VULKAN, standard)),
        ("kDLWebGPU", device(DeviceTag::WEBGPU, standard)),
        ("kDLHexagon", device(DeviceTag::HEXAGON, standard)),
        ("kDLOneAPI", device(DeviceTag::LEVEL_ZERO, standard)),
        ("kDLOpenCL", device(DeviceTag::OPENCL, standard)),
        ("kDLInt", code(Dtype::Int8)),
        ("kDLUInt", code(Dtype::UInt8)),
        ("kDLFloat", code(Dtype::Float32)),
        ("kDLBfloat", code(Dtype::BFloat16)),
        ("kDLComplex", code(Dtype::Complex64)),
        ("kDLBool", code(Dtype::Bool)),
        ("kDLFloat8_e4m3fn", code(Dtype::Float8E4M3)),
        ("kDLFloat8_e5m2", code(Dtype::Float8E5M2)),
        ("kDLFloat8_e8m0fnu", code(Dtype::Float8E8M0)),
        ("kDLFloat6_e2m3fn", code(Dtype::Float6E2M3)),
        ("kDLFloat6_e3m2fn", code(Dtype::Float6E3M2)),
        ("kDLFloat4_e2m1fn", code(Dtype::Float4E2M1)),
    ];
    for (name, number) in constants {
        assert_eq!(printed.remove(name), Some(number), "{name}");
    }
    assert!(printed.is_empty(), "{printed:?}");
}

type Versioned = *mut DLManagedTensorVersioned;

/// What `peer.c` offers.
struct Functions<'l> {
    make: Symbol<'l, extern "C" fn(u32, u64) -> Versioned>,
    make_older: Symbol<'l, extern "C" fn() -> *mut DLManagedTensor>,
    take: Symbol<'l, unsafe extern "C" fn(Versioned) -> f64>,
    write: Symbol<'l, unsafe extern "C" fn(Versioned) -> i32>,
    deleted: Symbol<'l, extern "C" fn() -> i32>,
}

impl<'l> Functions<'l> {
    fn of(peer: &'l Library) -> Self {
        Self {
            // SAFETY: this is its type in `peer.c`.
            make: unsafe { peer.get("peer_make") }.unwrap(),
            // SAFETY: this is its type in `peer.c`.
            make_older: unsafe { peer.get("peer_make_older") }.unwrap(),
            // SAFETY: this is its type in `peer.c`.
            take: unsafe { peer.get("peer_take") }.unwrap(),
            // SAFETY: this is its type in `peer.c`.
            write: unsafe { peer.get("peer_write") }.unwrap(),
            // SAFETY: this is its type in `peer.c`.
            deleted: unsafe { peer.get("peer_deleted") }.unwrap(),
        }
    }
}

/// Takes over what C made.
fn taken<M: Managed>(managed: *mut M) -> hurray_tensor::Result<Foreign<M>> {
    // SAFETY: `peer.c` makes tensors for the caller, and writes to them no more; so do we.
    unsafe { Foreign::from_raw(managed, Terms::default()) }
}

#[test]
fn c_makes_what_we_take_and_takes_what_we_make() {
    let path = compile("libdlpack-peer.so", &["-shared", "-fPIC"]);
    // SAFETY: the library was compiled just now, and does nothing when it is opened.
    let peer = unsafe { Library::new(path) }.unwrap();
    let c = Functions::of(&peer);

    let tensor = Tensor::try_from(taken((c.make)(1, FLAG_READ_ONLY)).unwrap()).unwrap();
    let values: Vec<f32> = elements(&tensor)
        .iter()
        .map(|bytes| f32::from_le_bytes(bytes[..].try_into().unwrap()))
        .collect();
    assert_eq!(values, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!((c.deleted)(), 0);
    // Back to C, which sums it; it was C's own, and is deleted with the last share.
    let out: Exported = (&tensor).try_into().unwrap();
    // SAFETY: `peer_take` takes the struct over.
    assert_eq!(unsafe { (c.take)(out.into_raw()) }, 15.0);
    assert_eq!((c.deleted)(), 0);
    drop(tensor);
    assert_eq!((c.deleted)(), 1);

    let refused = taken((c.make)(2, 0)).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackVersion));
    assert_eq!((c.deleted)(), 2);

    let tensor = Tensor::try_from(taken((c.make_older)()).unwrap()).unwrap();
    assert_eq!(tensor.host_buffers().unwrap()[0][..], [7, 8, 9]);
    drop(tensor);
    assert_eq!((c.deleted)(), 3);

    // C writes where the struct lets it.
    let own = Tensor::from_vec(vec![1_u8, 2], &[2]).unwrap();
    let shared: Exported = (&own).try_into().unwrap();
    let shared = shared.into_raw();
    // SAFETY: the struct is there, and says that it is read-only.
    assert_eq!(unsafe { (c.write)(shared) }, 0);
    drop(taken(shared));
    let given: Exported = own.try_into().unwrap();
    let given = given.into_raw();
    // SAFETY: the struct is there, and nobody else holds its memory.
    assert_eq!(unsafe { (c.write)(given) }, 1);
    let back = Tensor::try_from(taken(given).unwrap()).unwrap();
    assert_eq!(back.host_buffers().unwrap()[0][..], [42, 2]);
}
