//! The tree that a person reads.

use std::io::{self, Write};

use hurray_tensor::File;
use hurray_tensor::format::{CHECKSUM_KEY, Composite, KvKind, KvValue};

use super::listing::{Listing, Seen};
use crate::describe::hexadecimal;
use crate::escape::{Escaped, Quoted};
use crate::output::Output;
use crate::words;

/// Names longer than this are cut, and told to be.
const LONGEST_NAME: usize = 120;
/// Values of key-values longer than this are cut.
const LONGEST_VALUE: usize = 160;
/// Cells beyond this do not widen their column.
const WIDEST: usize = 72;

pub(super) fn file(
    out: &mut Output<'_>,
    title: &str,
    file: &File,
    listing: &Listing,
) -> io::Result<()> {
    let ink = out.ink();
    let container = file.container();
    let header = container.header();
    let (major, minor) = header.version();
    let data = listing.tensors.iter().fold(0_u64, |total, tensor| {
        total.saturating_add(tensor.descriptor().map_or(0, |d| d.data_bytes()))
    });
    writeln!(
        out,
        "{}: Hurray file {major}.{minor}, {}, {} of data in {}",
        ink.bold(title),
        words::counted(length(file.len()), "tensor"),
        words::bytes(data),
        words::bytes(container.sections().size()),
    )?;
    let order = if header.is_sorted() { "sorted by name" } else { "in writing order" };
    let crc = if header.flags() & 4 == 0 { "not checksummed" } else { "checksummed" };
    writeln!(
        out,
        "buffers aligned to {}, index {order} and {crc}",
        words::grouped(header.alignment().into())
    )?;
    key_values(out, file)?;
    tensors(out, listing)?;
    aliases(out, file)
}

fn key_values(out: &mut Output<'_>, file: &File) -> io::Result<()> {
    let checksums = file.kv().iter().filter(|(key, _)| key.starts_with(CHECKSUM_KEY)).count();
    let listed: Vec<(&str, KvValue<'_>)> =
        file.kv().iter().filter(|(key, _)| !key.starts_with(CHECKSUM_KEY)).collect();
    if file.kv().is_empty() {
        return Ok(());
    }
    let ink = out.ink();
    writeln!(out, "\n{}", ink.bold("key-values"))?;
    let last = listed.len() + usize::from(checksums > 0);
    for (number, (key, value)) in listed.iter().enumerate() {
        let branch = ink.dim(branch(number + 1 == last));
        writeln!(out, "{branch}{} = {}", Escaped::at_most(key, LONGEST_NAME), shown(value))?;
    }
    if checksums > 0 {
        let branch = ink.dim(branch(true));
        let of = words::counted(length(checksums), "tensor");
        writeln!(out, "{branch}{CHECKSUM_KEY}*: checksums of {of}")?;
    }
    Ok(())
}

/// A value, and its kind where the text alone does not tell it.
fn shown(value: &KvValue<'_>) -> String {
    let text = plain(value);
    match value.kind() {
        KvKind::String | KvKind::Bool | KvKind::Bytes => text,
        KvKind::Array => match value {
            KvValue::Array(array) => format!("{text} ({})", array.element().name()),
            _ => text,
        },
        number => format!("{text} ({})", number.name()),
    }
}

fn plain(value: &KvValue<'_>) -> String {
    match value {
        KvValue::String(text) => Quoted::at_most(text, LONGEST_VALUE).to_string(),
        KvValue::I64(number) => number.to_string(),
        KvValue::U64(number) => number.to_string(),
        KvValue::F64(number) => format!("{number:?}"),
        KvValue::Bool(flag) => flag.to_string(),
        KvValue::Bytes(bytes) => {
            let some = bytes.get(..LONGEST_VALUE / 2).unwrap_or(bytes);
            let more = if some.len() < bytes.len() { "…" } else { "" };
            format!("0x{}{more} ({})", hexadecimal(some), words::bytes(length(bytes.len())))
        }
        KvValue::Array(array) => {
            // An array may hold millions; the first few tell what it is.
            const FEW: usize = 8;
            let mut items: Vec<String> = array.iter().take(FEW).map(|item| plain(&item)).collect();
            if array.len() > FEW {
                items.push(format!("… {} in all", words::grouped(length(array.len()))));
            }
            format!("[{}]", items.join(", "))
        }
    }
}

fn aliases(out: &mut Output<'_>, file: &File) -> io::Result<()> {
    let aliases: Vec<(&str, &str)> = file.kv().aliases().collect();
    if aliases.is_empty() {
        return Ok(());
    }
    let ink = out.ink();
    writeln!(out, "\n{}", ink.bold("aliases"))?;
    for (number, (name, target)) in aliases.iter().enumerate() {
        let branch = ink.dim(branch(number + 1 == aliases.len()));
        let (name, target) =
            (Escaped::at_most(name, LONGEST_NAME), Escaped::at_most(target, LONGEST_NAME));
        writeln!(out, "{branch}{name} -> {target}")?;
    }
    Ok(())
}

/// The tensors, composites as branches.
pub(super) fn tensors(out: &mut Output<'_>, listing: &Listing) -> io::Result<()> {
    if listing.tensors.is_empty() {
        return Ok(());
    }
    let ink = out.ink();
    let common = common_place(listing);
    match &common {
        Some(place) => writeln!(out, "\n{}, all of them {place}", ink.bold("tensors"))?,
        None => writeln!(out, "\n{}", ink.bold("tensors"))?,
    }
    let is_common = common.is_some();
    let mut widths = [0; 5];
    for root in &listing.roots {
        widen(&mut widths, listing, root, 1);
    }
    for (number, root) in listing.roots.iter().enumerate() {
        let last = number + 1 == listing.roots.len();
        let drawing = Drawing { listing, widths, is_common };
        drawing.node(out, root, "", last)?;
    }
    Ok(())
}

/// Where all buffers are, where that is one place: it is said once then.
fn common_place(listing: &Listing) -> Option<String> {
    let descriptors = listing.tensors.iter().filter_map(Seen::descriptor);
    let mut places = descriptors.flat_map(|d| d.buffers().iter().map(words::handle_place));
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

fn widen(widths: &mut [usize; 5], listing: &Listing, node: &Composite<usize>, depth: usize) {
    let Some(tensor) = listing.tensors.get(node.item) else {
        return;
    };
    for (column, (width, cell)) in widths.iter_mut().zip(cells(tensor)).enumerate() {
        // Branches stand before the name.
        let indent = if column == 0 { depth * BRANCH } else { 0 };
        let wanted = cell.chars().count() + indent;
        if wanted <= WIDEST {
            *width = wanted.max(*width);
        }
    }
    node.members.iter().for_each(|member| widen(widths, listing, member, depth + 1));
}

/// The cells of a tensor's line: name, type, shape, size, layout; what comes last has no
/// column.
fn cells(tensor: &Seen) -> [String; 5] {
    let name = Escaped::at_most(&tensor.name, LONGEST_NAME).to_string();
    match tensor.descriptor() {
        Some(d) => [
            name,
            d.dtype().to_string(),
            words::shape(d.shape().iter().copied()),
            words::bytes(d.data_bytes()),
            words::layout(d.layout()),
        ],
        None => [name, String::new(), String::new(), String::new(), String::new()],
    }
}

/// The width of one step of the tree.
const BRANCH: usize = 3;

fn branch(last: bool) -> &'static str {
    if last { "└─ " } else { "├─ " }
}

struct Drawing<'l> {
    listing: &'l Listing,
    widths: [usize; 5],
    /// Whether the place of all buffers was said already.
    is_common: bool,
}

impl Drawing<'_> {
    fn node(
        &self,
        out: &mut Output<'_>,
        node: &Composite<usize>,
        before: &str,
        last: bool,
    ) -> io::Result<()> {
        let Some(tensor) = self.listing.tensors.get(node.item) else {
            return Ok(());
        };
        let ink = out.ink();
        write!(out, "{}{}", ink.dim(before), ink.dim(branch(last)))?;
        let inside = format!("{before}{}", if last { "   " } else { "│  " });
        let mark = if node.members.is_empty() { "   " } else { "│  " };
        self.tensor(out, tensor, before.chars().count() + BRANCH, &format!("{inside}{mark}"))?;
        for (number, member) in node.members.iter().enumerate() {
            self.node(out, member, &inside, number + 1 == node.members.len())?;
        }
        Ok(())
    }

    /// The line of a tensor, whose first `indent` characters are there, and its notes.
    fn tensor(
        &self,
        out: &mut Output<'_>,
        tensor: &Seen,
        indent: usize,
        before_notes: &str,
    ) -> io::Result<()> {
        let ink = out.ink();
        let [name, dtype, shape, size, layout] = cells(tensor);
        let [name_width, dtype_width, shape_width, size_width, layout_width] = self.widths;
        let name_width = name_width.saturating_sub(indent);
        let descriptor = match &tensor.known {
            Ok((descriptor, _)) => descriptor,
            Err(error) => {
                return writeln!(out, "{}  {} {error}", ink.bold(&name), ink.bad("broken:"));
            }
        };
        let name = ink.bold(name);
        write!(out, "{name:name_width$}  {dtype:dtype_width$}  {shape:shape_width$}  ")?;
        if self.is_common {
            writeln!(out, "{size:>size_width$}  {layout}")?;
        } else {
            let place = words::place(descriptor);
            writeln!(out, "{size:>size_width$}  {layout:layout_width$}  {place}")?;
        }
        for (about, note) in words::notes(descriptor, !self.is_common) {
            writeln!(out, "{}{:11} {note}", ink.dim(before_notes), ink.dim(about))?;
        }
        Ok(())
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
