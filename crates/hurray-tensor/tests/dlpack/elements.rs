//! The table of element types, both ways, against a second one written down here.

use hurray_tensor::Copying;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Coo, Descriptor, Dtype, ExtensionType, Layout, PerTensor};
use hurray_tensor::format::{PrivateDtype, Quantization, Rule};
use hurray_tensor::{BufferMut, Tensor};

use crate::producer::*;

const TYPES: &str = "float16 2 16, bfloat16 4 16, float32 2 32, float64 2 64, int8 0 8, uint8 1 8, \
    int16 0 16, uint16 1 16, int32 0 32, uint32 1 32, int64 0 64, uint64 1 64, bool 6 8, \
    float8_e4m3 10 8, float8_e5m2 12 8, float8_e8m0 14 8, float4_e2m1 17 4, float6_e2m3 15 6, \
    float6_e3m2 16 6, float128 2 128, int4 0 4, uint4 1 4, int2 0 2, uint2 1 2, complex64 5 64, \
    complex128 5 128";

#[test]
fn every_type_has_one_code_and_comes_back() {
    let mut named = 0;
    for row in TYPES.split(", ") {
        let row: Vec<&str> = row.split(' ').collect();
        let dtype = Dtype::from_name(row[0]).unwrap();
        let code =
            DLDataType { code: row[1].parse().unwrap(), bits: row[2].parse().unwrap(), lanes: 1 };
        assert_eq!(data_type(dtype).unwrap(), code, "{dtype}");
        named += 1;
        if dtype == Dtype::Bool {
            continue;
        }
        let bytes: Vec<u8> = (0..usize::from(code.bits) * 4 / 8).map(|at| at as u8).collect();
        let tensor = Producer::new(code, &[4], &bytes).tensor_here().unwrap();
        assert_eq!(tensor.descriptor().dtype(), dtype);
        assert_eq!(tensor.host_buffers().unwrap()[0][..], bytes);
        let out: Exported = tensor.try_into().unwrap();
        assert_eq!(out.tensor().dtype, code);
    }
    assert_eq!(named, Dtype::ALL.len());
}

#[test]
fn what_dlpack_has_no_words_for_is_refused() {
    let refused = |tensor: &Tensor| {
        let how = Export { copying: Copying::WhenNeeded, ..Export::default() };
        how.share::<DLManagedTensorVersioned>(tensor).unwrap_err().rule().unwrap()
    };
    let buffer = |bytes: usize| BufferMut::zeroed(bytes).unwrap().freeze();

    let private = PrivateDtype::new(0xF1, ExtensionType::integer(8, false).unwrap()).unwrap();
    let tensor = Tensor::dense(Dtype::Private(private), &[4], buffer(4)).unwrap();
    assert_eq!(refused(&tensor), Rule::DlpackType);

    let coo = Layout::Coo(Coo { nnz: 1, is_sorted: true });
    let sparse = Descriptor::builder(Dtype::Float32, &[4]).layout(coo).build().unwrap();
    let tensor = Tensor::new(sparse, [buffer(4), buffer(8)]).unwrap();
    assert_eq!(refused(&tensor), Rule::DlpackLayout);

    let scale = PerTensor { scale: 0.5, zero_point: 0 };
    let quantized = Descriptor::builder(Dtype::Int8, &[4])
        .quantization(Quantization::PerTensor(scale))
        .build()
        .unwrap();
    let tensor = Tensor::new(quantized, [buffer(4)]).unwrap();
    assert_eq!(refused(&tensor), Rule::DlpackQuantized);

    let unknown = Descriptor::dense(Dtype::Int8, &[hurray_tensor::format::DYNAMIC]).unwrap();
    let tensor = Tensor::new(unknown, [buffer(0)]).unwrap();
    assert_eq!(refused(&tensor), Rule::DescriptorUnresolved);

    let huge = Tensor::laid_out(Dtype::Int8, &[1 << 63, 2], Layout::strided([0, 0]), 0, buffer(1));
    assert_eq!(refused(&huge.unwrap()), Rule::DlpackSize);
    let steps = Tensor::dense(Dtype::Int8, &[0, 1 << 62, 1 << 62], buffer(0));
    assert_eq!(refused(&steps.unwrap()), Rule::DlpackSize);
}
