//! What kind of bytes an input is, told by how it begins.

use std::path::Path;

use hurray_tensor::format::MAGIC;

/// What the command reads by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A Hurray file: many named tensors (.hrry)
    File,
    /// One descriptor, without data
    Descriptor,
    /// A plain stream: descriptors, each followed by its data (.hrrys)
    Stream,
}

/// How many first bytes are enough to tell.
pub(crate) const HEAD: usize = 64;

/// What the first bytes of an input say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A container.
    File,
    /// Descriptors: one alone, or a stream of them with data.
    Descriptors,
    /// Nothing of ours.
    Other,
}

pub(crate) fn told_by(head: &[u8]) -> Told {
    match head.strip_prefix(&MAGIC) {
        // After the magic a descriptor has its version; a letter is the rest of the other
        // magic, perhaps damaged.
        Some([letter, ..]) if letter.is_ascii_graphic() => Told::File,
        Some(_) => Told::Descriptors,
        None => Told::Other,
    }
}

pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether it looks like a safetensors file: the length of a JSON header, then the header.
pub(crate) fn is_safetensors(head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first_chunk::<8>() else {
        return false;
    };
    let length = u64::from_le_bytes(*length);
    (2..=1 << 30).contains(&length) && rest.first() == Some(&b'{')
}

/// A word about a file of another kind: what it looks like, and what to do with it.
pub(crate) fn word(head: &[u8], path: &Path) -> Option<&'static str> {
    if head.is_empty() {
        return Some("it is empty: a download or a copy may have failed before it began");
    }
    if is_safetensors(head) && path.as_os_str() == "-" {
        return Some(
            "it looks like a safetensors file, which is not read from standard input: give its \
             name, as in `hurray convert FILE.safetensors FILE.hrry`",
        );
    }
    if is_safetensors(head) {
        return Some(
            "it looks like a safetensors file: `hurray convert FILE.safetensors FILE.hrry` makes \
             a Hurray file of it",
        );
    }
    let known = FOREIGN.iter().find(|(begins, _)| begins(head, path));
    known.map(|(_, word)| *word)
}

type Begins = fn(&[u8], &Path) -> bool;

const FOREIGN: &[(Begins, &str)] = &[
    (
        |head, _| head.starts_with(b"GGUF") || head.starts_with(b"FUGG"),
        "it looks like a GGUF model, which this version does not read: get the model as \
         safetensors (most are published so too), then `hurray convert` it",
    ),
    (
        |head, path| head.starts_with(b"PK\x03\x04") && has_extension(path, "npz"),
        "it looks like NumPy's .npz: load it in Python and save it with \
         safetensors.numpy.save_file, then `hurray convert` that",
    ),
    (
        |head, _| head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06"),
        "it looks like a ZIP, which is what PyTorch's .pt and .bin checkpoints are: load it in \
         Python (with weights_only=True if you do not trust it) and save it with \
         safetensors.torch.save_file, then `hurray convert` that",
    ),
    (
        |head, _| matches!(head, [0x80, 2..=5, ..]),
        "it looks like a Python pickle, which can run any code when it is loaded: if you trust \
         it, load it in Python and save it with safetensors, then `hurray convert` that",
    ),
    (
        |head, _| starts_with_any(head, &["<!doctype html", "<html", "<?xml", "<head"]),
        "it looks like a web page: the download may have needed a login or another link; fetch \
         the raw file",
    ),
    (
        |head, _| head.starts_with(b"version https://git-lfs"),
        "it is a Git LFS pointer, which stands for the real file: run `git lfs pull`",
    ),
    (
        |head, _| head.starts_with(&[0x1f, 0x8b]),
        "it is compressed with gzip: decompress it first, as in `gunzip FILE.gz`",
    ),
    (
        |head, _| head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        "it is compressed with Zstandard: decompress it first, as in `unzstd FILE.zst`",
    ),
    (
        |head, _| head.starts_with(b"\x93NUMPY"),
        "it looks like a NumPy array: load it in Python and save it with \
         safetensors.numpy.save_file, then `hurray convert` that",
    ),
    (
        |head, _| head.starts_with(b"\x89HDF\r\n"),
        "it looks like HDF5 (Keras, or NetCDF): load it in Python and save it with safetensors, \
         then `hurray convert` that",
    ),
    (
        |head, path| has_extension(path, "onnx") || is_onnx(head),
        "it looks like an ONNX model, whose graph has no place here: read its initializers in \
         Python and save them with safetensors, then `hurray convert` that",
    ),
    (
        |head, _| head.starts_with(b"ELIFYRRH") || head.starts_with(b"YRRH"),
        "its bytes are swapped: it was written or copied as numbers of the other byte order",
    ),
    (
        |head, _| head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{'),
        "it looks like JSON: for a sharded model, `hurray convert` takes the file that ends in \
         .safetensors.index.json",
    ),
    (
        |head, _| head.len() == HEAD && head.iter().all(|byte| *byte == 0),
        "it begins with zeros: a download or a copy may have been cut off",
    ),
];

fn starts_with_any(head: &[u8], texts: &[&str]) -> bool {
    let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let head = head.get(start..).unwrap_or_default();
    texts.iter().any(|text| {
        head.get(..text.len()).is_some_and(|found| found.eq_ignore_ascii_case(text.as_bytes()))
    })
}

/// A protocol buffer whose first field is the version of ONNX and whose second tells who
/// made it.
fn is_onnx(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=31, 0x12 | 0x1a | 0x22 | 0x2a | 0x32 | 0x3a, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_of(head: &[u8], name: &str) -> &'static str {
        word(head, Path::new(name)).unwrap_or("")
    }

    #[test]
    fn other_kinds_are_known_by_their_first_bytes() {
        let cases: [(&[u8], &str, &str); 14] = [
            (b"", "x", "empty"),
            (b"GGUF\x03\0\0\0", "x", "GGUF"),
            (b"PK\x03\x04\x14\0", "model.pt", "PyTorch"),
            (b"PK\x03\x04\x14\0", "a.npz", "NumPy"),
            (b"\x80\x02}q\0.", "x.bin", "pickle"),
            (b"\n <!DOCTYPE html><html>", "x", "web page"),
            (b"version https://git-lfs.github.com/spec/v1\n", "x", "git lfs pull"),
            (b"\x1f\x8b\x08", "x", "gzip"),
            (b"\x08\x07\x12\x07pytorch", "x", "ONNX"),
            (b"\x93NUMPY\x01\0", "x", "NumPy"),
            (b"\x42\0\0\0\0\0\0\0{\"a\":{", "x", "hurray convert"),
            (b"{\"metadata\":", "x", "JSON"),
            (b"YRRH\0\x01", "x", "byte order"),
            (&[0; HEAD], "x", "zeros"),
        ];
        for (head, name, expected) in cases {
            let word = word_of(head, name);
            assert!(word.contains(expected), "{name} {head:?}: {word}");
        }
        assert_eq!(word_of(b"nothing known", "x"), "");
    }

    #[test]
    fn ours_are_told_apart() {
        assert_eq!(told_by(b"HRRYFILE\x01"), Told::File);
        assert_eq!(told_by(b"HRRYFXLE\x01"), Told::File);
        assert_eq!(told_by(b"HRRY\x01\0"), Told::Descriptors);
        assert_eq!(told_by(b"HRR"), Told::Other);
    }
}
