//! What a tensor is, in words: the cells and notes that commands print.

use std::fmt::Write;

use hurray_tensor::format::{
    Array, BufferHandle, Composition, DYNAMIC, Descriptor, Dtype, KvRole, Layout, MemberRole,
    Order, Quantization, Shard, Statistics, Tiled,
};

/// A shape, `?` for a dimension that is not known yet.
pub(crate) fn shape(sizes: impl IntoIterator<Item = u64>) -> String {
    list(sizes.into_iter().map(|size| match size {
        DYNAMIC => "?".into(),
        size => size.to_string(),
    }))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn numbers<T: ToString>(values: &impl Array<T>) -> String {
    list(values.iter().map(|value| value.to_string()))
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of bytes.
pub(crate) fn bytes(count: u64) -> String {
    counted(count, "byte")
}

/// So many of them, in the plural where that is right.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// The layout with its fields.
pub(crate) fn layout(layout: &Layout) -> String {
    let name = layout.name();
    match layout {
        Layout::Strided(strides) => format!("{name} by {}", numbers(strides)),
        Layout::Tiled(tiled) => self::tiled(tiled),
        Layout::Morton(morton) => format!("{name}, bits {}", numbers(&morton.bits)),
        Layout::Coo(coo) => {
            let order = if coo.is_sorted { "sorted" } else { "unsorted" };
            format!("{name}, {} stored, {order}", grouped(coo.nnz))
        }
        Layout::Csr(compressed) | Layout::Csc(compressed) => {
            format!("{name}, {} stored", grouped(compressed.nnz))
        }
        Layout::Csf(csf) => {
            format!("{name}, {} stored, modes {}", grouped(csf.nnz), numbers(&csf.mode_order))
        }
        Layout::BlockPaged(paged) => {
            let role = match paged.kv_role {
                KvRole::Key => "keys",
                KvRole::Value => "values",
                KvRole::Fused => "keys and values",
            };
            let layer = paged.layer_index.map(|layer| format!(" of layer {layer}"));
            format!(
                "{name}, {role}{}, {} of {}, {}",
                layer.unwrap_or_default(),
                counted(paged.num_pages, "page"),
                counted(u64::from(paged.page_size), "token"),
                counted(u64::from(paged.num_seqs), "sequence"),
            )
        }
        Layout::Composite(head) => {
            let kind = match head.composition {
                Composition::Partition => "partition".into(),
                Composition::OverlayReplace => "overlay that replaces".into(),
                Composition::OverlayAdd => "overlay that adds".into(),
                Composition::Group => "group".into(),
                Composition::Private(rule, _) => format!("private rule 0x{rule:02X}"),
                // The enum may grow.
                _ => "rule not known here".into(),
            };
            format!("{name}, {kind}, {}", counted(u64::from(head.member_count), "member"))
        }
        Layout::Hilbert(hilbert) => format!("{name}, order {}", hilbert.order),
        Layout::Private(private) => format!(
            "{name} 0x{:02X}, id {:#x}, {} of its own",
            layout.tag(),
            private.id,
            bytes(length(&private.data)),
        ),
        _ => name.into(),
    }
}

fn tiled(tiled: &Tiled) -> String {
    let mut text = String::from("tiled");
    for level in &tiled.levels {
        // Writing to a string cannot fail.
        let _ = write!(text, " {} in {} order", numbers(&level.tile_shape), order(&level.outer));
    }
    let _ = write!(text, ", inside {}", order(&tiled.inner));
    text
}

fn order(order: &Order) -> String {
    match order {
        Order::RowMajor => "row-major".into(),
        Order::ColumnMajor => "column-major".into(),
        Order::Strided(strides) => format!("strided {}", numbers(strides)),
    }
}

/// Where the buffers are and who may touch them when: one text where they all agree.
pub(crate) fn place(d: &Descriptor) -> String {
    let mut places = d.buffers().iter().map(handle_place);
    match places.next() {
        None => "no memory".into(),
        Some(first) if places.all(|place| place == first) => first,
        Some(_) => "in several ways".into(),
    }
}

/// Where one buffer is, and who may touch it when.
pub(crate) fn handle_place(handle: &BufferHandle) -> String {
    format!("{} {} {}", handle.device(), handle.class(), handle.sync())
}

/// How codes become values.
pub(crate) fn quantization(scheme: &Quantization) -> String {
    let name = scheme.name();
    let zeros = |index: Option<u32>| match index {
        Some(index) => format!("zero points in buffer {index}"),
        None => "symmetric".into(),
    };
    match scheme {
        Quantization::PerTensor(s) => {
            format!("{name}, scale {:?}, zero point {}", s.scale, s.zero_point)
        }
        Quantization::PerChannel(s) => format!(
            "{name}, axis {}, float32 scales in buffer {}, {}",
            s.axis,
            s.scales,
            zeros(s.zero_points)
        ),
        Quantization::PerBlock(s) => format!(
            "{name}, axis {}, blocks of {}, {} scales in buffer {}, {}",
            s.axis,
            s.block_size,
            s.scale_type,
            s.scales,
            zeros(s.zero_points)
        ),
        Quantization::Nf4(s) => format!(
            "{name}, axis {}, blocks of {}, float32 scales in buffer {}",
            s.axis, s.block_size, s.scales
        ),
        Quantization::Mxfp(s) => format!(
            "{name}, axis {}, blocks of {}, float8_e8m0 scales in buffer {}",
            s.axis, s.block_size, s.scales
        ),
        Quantization::Private { tag, payload, .. } => {
            format!("{name} 0x{tag:02X}, {} of its own", bytes(length(payload)))
        }
        // A scheme of a later version.
        other => format!("{name} 0x{:02X}", other.tag()),
    }
}

/// Whatever else there is to say, each with what it is about; of buffers also their places,
/// unless those were said.
pub(crate) fn notes(d: &Descriptor, places: bool) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    if let Some(scheme) = d.quantization() {
        notes.push(("quantized", quantization(scheme)));
    }
    if d.byte_offset() != 0 {
        notes.push(("starts", format!("at byte {} of buffer 0", grouped(d.byte_offset()))));
    }
    if d.buffer_count() > 1 {
        notes.extend(d.buffers().iter().enumerate().map(|(n, b)| ("buffer", buffer(n, b, places))));
    }
    if let Some(shard) = d.shard() {
        notes.push(("shard", self::shard(shard)));
    }
    match d.member_role() {
        Some(MemberRole::Base) => notes.push(("role", "base of an overlay".into())),
        Some(MemberRole::Correction) => notes.push(("role", "correction of an overlay".into())),
        None => {}
    }
    if let Dtype::Private(private) = d.dtype() {
        notes.push(("type", extension_type(private.record())));
    }
    if let Some(advice) = d.statistics() {
        notes.push(("said to have", statistics(advice)));
    }
    if d.version().1 > 0 {
        notes.push(("version", format!("1.{}, of which 1.0 is understood", d.version().1)));
    }
    notes
}

fn buffer(number: usize, handle: &BufferHandle, place: bool) -> String {
    let size = bytes(handle.byte_size());
    let mut text = format!("{number}: {size}, aligned to {}", handle.alignment());
    if place {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {}", handle_place(handle));
    }
    text
}

fn shard(shard: &Shard) -> String {
    format!("of {} at {}", numbers(&shard.parent_shape()), numbers(&shard.offset()))
}

fn extension_type(record: hurray_tensor::format::ExtensionType) -> String {
    let bits = record.bit_width();
    match record.float_format() {
        None if record.kind() == hurray_tensor::format::Kind::Signed => {
            format!("signed, {bits} bits")
        }
        None => format!("unsigned, {bits} bits"),
        Some(float) => format!(
            "float, {bits} bits: sign {}, exponent {} with bias {}, mantissa {}{}{}",
            float.sign_bits,
            float.exponent_bits,
            float.exponent_bias,
            float.mantissa_bits,
            if float.has_nan { ", NaN" } else { "" },
            if float.has_inf { ", infinity" } else { "" },
        ),
    }
}

fn statistics(advice: &Statistics) -> String {
    let values = advice.values();
    let mut said = Vec::new();
    if let Some(nnz) = values.nnz {
        said.push(format!("{} not zero", grouped(nnz)));
    }
    if let Some(ratio) = values.sparsity_ratio {
        said.push(format!("{ratio:?} of them zero"));
    }
    if let Some((least, greatest, magnitude)) = values.range {
        said.push(format!("values {least:?} to {greatest:?}, magnitude {magnitude:?}"));
    }
    if let Some((mean, deviation)) = values.moments {
        said.push(format!("mean {mean:?}, deviation {deviation:?}"));
    }
    if let Some((n, m)) = values.nm {
        said.push(format!("{n} of every {m} not zero"));
    }
    if let Some((nan, infinite)) = values.nan_inf {
        let some = |has: bool| if has { "some" } else { "no" };
        said.push(format!("{} NaN, {} infinity", some(nan), some(infinite)));
    }
    if said.is_empty() { "nothing computed".into() } else { said.join("; ") }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(2048), "2,048 bytes");
    }
}
