//! The element types of both sides, one row each, for both directions.

use ::safetensors::tensor::Dtype as Theirs;
use hurray_tensor::format::Dtype as Ours;

/// How the bytes of a type move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    /// As they are.
    Same,
    /// A byte each on their side, a bit each on ours.
    Packed,
}

/// Types that are not here have no equal on the other side. Of theirs, those are the two
/// "fnuz" kinds of float8: another bias, and no negative zero.
const TABLE: &[(Theirs, Ours, Bytes)] = &[
    (Theirs::BOOL, Ours::Bool, Bytes::Packed),
    (Theirs::F4, Ours::Float4E2M1, Bytes::Same),
    (Theirs::F6_E2M3, Ours::Float6E2M3, Bytes::Same),
    (Theirs::F6_E3M2, Ours::Float6E3M2, Bytes::Same),
    (Theirs::U8, Ours::UInt8, Bytes::Same),
    (Theirs::I8, Ours::Int8, Bytes::Same),
    (Theirs::F8_E5M2, Ours::Float8E5M2, Bytes::Same),
    (Theirs::F8_E4M3, Ours::Float8E4M3, Bytes::Same),
    (Theirs::F8_E8M0, Ours::Float8E8M0, Bytes::Same),
    (Theirs::I16, Ours::Int16, Bytes::Same),
    (Theirs::U16, Ours::UInt16, Bytes::Same),
    (Theirs::F16, Ours::Float16, Bytes::Same),
    (Theirs::BF16, Ours::BFloat16, Bytes::Same),
    (Theirs::I32, Ours::Int32, Bytes::Same),
    (Theirs::U32, Ours::UInt32, Bytes::Same),
    (Theirs::F32, Ours::Float32, Bytes::Same),
    (Theirs::C64, Ours::Complex64, Bytes::Same),
    (Theirs::F64, Ours::Float64, Bytes::Same),
    (Theirs::I64, Ours::Int64, Bytes::Same),
    (Theirs::U64, Ours::UInt64, Bytes::Same),
];

/// Our equal of their type.
pub(super) fn ours(theirs: Theirs) -> Option<(Ours, Bytes)> {
    TABLE.iter().find(|row| row.0 == theirs).map(|row| (row.1, row.2))
}

/// Their equal of our type.
pub(super) fn theirs(ours: Ours) -> Option<(Theirs, Bytes)> {
    TABLE.iter().find(|row| row.1 == ours).map(|row| (row.0, row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As their enum lists them; a match without a wildcard cannot be had, since it may grow.
    const ALL: [Theirs; 22] = [
        Theirs::BOOL,
        Theirs::F4,
        Theirs::F6_E2M3,
        Theirs::F6_E3M2,
        Theirs::U8,
        Theirs::I8,
        Theirs::F8_E5M2,
        Theirs::F8_E4M3,
        Theirs::F8_E8M0,
        Theirs::F8_E4M3FNUZ,
        Theirs::F8_E5M2FNUZ,
        Theirs::I16,
        Theirs::U16,
        Theirs::F16,
        Theirs::BF16,
        Theirs::I32,
        Theirs::U32,
        Theirs::F32,
        Theirs::C64,
        Theirs::F64,
        Theirs::I64,
        Theirs::U64,
    ];

    #[test]
    fn each_type_has_one_equal_of_the_same_width() {
        for dtype in ALL {
            let Some((ours, bytes)) = ours(dtype) else {
                assert!(matches!(dtype, Theirs::F8_E4M3FNUZ | Theirs::F8_E5M2FNUZ), "{dtype}");
                continue;
            };
            assert_eq!(theirs(ours), Some((dtype, bytes)));
            match bytes {
                Bytes::Same => assert_eq!(dtype.bitsize(), ours.bits() as usize, "{dtype}"),
                Bytes::Packed => assert_eq!((dtype.bitsize(), ours.bits()), (8, 1)),
            }
        }
        let without: Vec<_> = Ours::ALL.iter().filter(|ours| theirs(**ours).is_none()).collect();
        let names: Vec<_> = without.iter().map(|ours| ours.name()).collect();
        assert_eq!(names, ["float128", "int4", "uint4", "int2", "uint2", "complex128"]);
    }
}
