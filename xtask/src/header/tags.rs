//! The tags of the format as constants of C, from the format's own tables.

use std::fmt::Write;

use hurray_format::{
    BlockPaged, CompositeHead, Composition, Compressed, Coo, Csf, Dtype, Hilbert, KvKind, KvRole,
    Layout, List, MemberRole, Mxfp, Nf4, PerBlock, PerChannel, PerTensor, Quantization, Tiled,
};

use crate::Outcome;

/// A group of constants: what they are, the prefix of their names, and each name with its value.
type Group = (&'static str, &'static str, Vec<(String, u64)>);

pub(super) fn defines() -> Outcome<String> {
    let mut text = String::from(
        "// Devices, sync modes and memory classes are in hurray_abi.h. 0xF0-0xFE are private tags, by\n\
         // agreement.\n\n\
         // A size that is not known yet.\n\
         #define HURRAY_DYNAMIC UINT64_MAX\n\
         // `layer_index` of a layout where the layer of the model is not said.\n\
         #define HURRAY_NO_LAYER UINT32_MAX\n\
         // `zero_points` of a symmetric scheme, which has none.\n\
         #define HURRAY_NO_BUFFER UINT32_MAX\n\
         // `end` of a range that goes to the end of its dimension.\n\
         #define HURRAY_TO_END UINT64_MAX\n",
    );
    for (purpose, prefix, values) in groups() {
        write!(text, "\n// {purpose}\n")?;
        for (name, value) in values {
            let name = name.to_uppercase().replace('-', "_");
            writeln!(text, "#define HURRAY_{prefix}_{name} 0x{value:02X}")?;
        }
    }
    Ok(text)
}

fn groups() -> Vec<Group> {
    let tag = |name: &str, tag: u8| (name.to_owned(), u64::from(tag));
    let roles = [("key", KvRole::Key), ("value", KvRole::Value), ("fused", KvRole::Fused)];
    let compositions = [
        ("partition", Composition::Partition),
        ("overlay", Composition::OverlayReplace),
        ("group", Composition::Group),
    ];
    let combined = [("replace", Composition::OverlayReplace), ("add", Composition::OverlayAdd)];
    let members = [("correction", MemberRole::Correction), ("base", MemberRole::Base)];
    let kinds = [
        KvKind::String,
        KvKind::I64,
        KvKind::U64,
        KvKind::F64,
        KvKind::Bool,
        KvKind::Bytes,
        KvKind::Array,
    ];
    let dtypes = Dtype::ALL.iter().map(|dtype| tag(dtype.name(), dtype.tag()));
    let layouts = layouts().into_iter().map(|layout| tag(layout.name(), layout.tag()));
    let schemes = schemes().into_iter().map(|scheme| tag(scheme.name(), scheme.tag()));
    let roles = roles.into_iter().map(|(name, role)| tag(name, role.tag()));
    let compositions = compositions.into_iter().map(|(name, rule)| tag(name, rule.tags().0));
    let combined = combined.into_iter().map(|(name, rule)| tag(name, rule.tags().1));
    let members = members.into_iter().map(|(name, role)| tag(name, role.tag()));
    let kinds = kinds.into_iter().map(|kind| tag(kind.name(), kind as u8));
    vec![
        ("Element types.", "DTYPE", dtypes.collect()),
        ("Layouts.", "LAYOUT", layouts.collect()),
        ("Which half of a cache the pages of a block-paged tensor hold.", "KV", roles.collect()),
        ("How the members of a composite make it.", "COMPOSITION", compositions.collect()),
        ("How the members of an overlay are combined.", "COMBINE", combined.collect()),
        ("The part that a member of an overlay plays.", "MEMBER", members.collect()),
        ("Quantization schemes.", "SCHEME", schemes.collect()),
        ("Which optional sections a descriptor has, bit by bit.", "HAS", bits(&SECTIONS)),
        ("Which statistics were computed, bit by bit.", "COMPUTED", bits(&STATISTICS)),
        ("Kinds of values under a file's keys.", "KIND", kinds.collect()),
    ]
}

/// In the order of their bits, which the tests of hurray-capi hold against the format.
const SECTIONS: [&str; 5] =
    ["quantization", "shard", "extension_type", "statistics", "member_role"];
const STATISTICS: [&str; 6] = ["nnz", "sparsity_ratio", "range", "moments", "nm", "nan_inf"];

fn bits(names: &[&str]) -> Vec<(String, u64)> {
    names.iter().zip(0_u32..).map(|(name, bit)| ((*name).to_owned(), 1 << bit)).collect()
}

/// One of each layout that the format names.
fn layouts() -> Vec<Layout> {
    let compressed = Compressed { nnz: 0 };
    let paged = BlockPaged {
        page_size: 1,
        num_pages: 0,
        num_seqs: 0,
        kv_role: KvRole::Key,
        layer_index: None,
        wide_indices: false,
    };
    vec![
        Layout::RowMajor,
        Layout::ColumnMajor,
        Layout::strided([1]),
        Layout::tiled(Tiled::blocks([1])),
        Layout::morton([1]),
        Layout::Coo(Coo { nnz: 0, is_sorted: true }),
        Layout::Csr(compressed),
        Layout::Csc(compressed),
        Layout::Csf(Csf { nnz: 0, mode_order: List::from([0, 1, 2]) }),
        Layout::BlockPaged(paged),
        Layout::Composite(CompositeHead { composition: Composition::Group, member_count: 0 }),
        Layout::Hilbert(Hilbert { order: 1 }),
    ]
}

/// One of each scheme that the format names.
fn schemes() -> Vec<Quantization> {
    let block = PerBlock {
        axis: 0,
        block_size: 32,
        scales: 1,
        zero_points: None,
        scale_type: Dtype::Float32,
    };
    vec![
        Quantization::PerTensor(PerTensor { scale: 1.0, zero_point: 0 }),
        Quantization::PerChannel(PerChannel { axis: 0, scales: 1, zero_points: None }),
        Quantization::PerBlock(block),
        Quantization::Nf4(Nf4 { axis: 0, block_size: 64, scales: 1 }),
        Quantization::Mxfp(Mxfp { axis: 0, block_size: 32, scales: 1 }),
    ]
}
