//! Opening what a command was given: a file, a stream or a descriptor, by path or from
//! standard input.

#![allow(unsafe_code, reason = "files are mapped; see `open_file`")]

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use hurray_tensor::format::{Accept, Descriptor, Rule};
use hurray_tensor::{Access, Error, File, OpenOptions};

use crate::arguments::Settings;
use crate::failure::{Failure, plain, shown};
use crate::kind::{self, HEAD, Kind, Told, has_extension, told_by};
use crate::output::Output;

/// An input that is open.
pub(crate) enum Input<'c> {
    File(Box<File>),
    /// All of a bare descriptor's bytes, not yet looked at.
    Descriptor(Vec<u8>),
    Stream(Box<dyn Read + 'c>),
}

/// An input whose kind is known, and of which nothing was checked.
pub(crate) enum Raw<'c> {
    File(RawFile),
    Descriptor(Vec<u8>),
    Stream(Box<dyn Read + 'c>),
}

const CUT: &str = "it was cut: a download or a copy did not come to its end; get the file again";

/// A file that can be read at any place.
pub(crate) struct RawFile {
    pub(crate) file: fs::File,
    /// Whether it is what the path names, and not a copy of it.
    by_path: bool,
    /// A word about what it may be instead.
    word: Option<&'static str>,
}

/// Why an input cannot be used.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) error: Error,
    /// A word about what it may be instead.
    pub(crate) word: Option<&'static str>,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self { error, word: None }
    }
}

impl Trouble {
    fn reading(source: io::Error) -> Self {
        Self::from(failed("read", source))
    }

    pub(crate) fn into_failure(self, path: &Path) -> Failure {
        match self.word {
            Some(word) => {
                Failure::with_hint(format!("{}: {}", shown(path), plain(&self.error)), word)
            }
            None => Failure::tensor(path, &self.error),
        }
    }
}

pub(crate) fn failed(doing: &'static str, source: io::Error) -> Error {
    Error::Io { doing, place: Box::default(), source }
}

/// Where inputs come from, and what is shared by all of them.
pub(crate) struct Inputs<'c, 's> {
    pub(crate) stdin: &'c mut dyn Read,
    pub(crate) errors: &'c mut Output<'s>,
    pub(crate) settings: &'c Settings,
    pub(crate) accept: Accept,
}

impl<'c> Inputs<'c, '_> {
    /// Opens `path`, or standard input where it is `-`. Its kind is `known`, or told by its
    /// first bytes and its name.
    pub(crate) fn open(self, path: &Path, known: Option<Kind>) -> Result<Input<'c>, Trouble> {
        let Self { stdin, errors, settings, accept } = self;
        let raw = match raw(stdin, settings, &accept, path, known)? {
            Raw::Descriptor(bytes) => return Ok(Input::Descriptor(bytes)),
            Raw::Stream(source) => return Ok(Input::Stream(source)),
            Raw::File(raw) => raw,
        };
        let word = raw.word;
        let file = open_file(raw, path, settings, &accept);
        let file = file.map_err(|error| {
            // Such a file begins well.
            let is_cut = error.rule() == Some(Rule::FileTrailerMagic);
            Trouble { word: word.or(is_cut.then_some(CUT)), error }
        })?;
        report_access(&file, path, errors);
        Ok(Input::File(Box::new(file)))
    }

    /// The same, with nothing looked at but what tells the kind.
    pub(crate) fn open_raw(self, path: &Path, known: Option<Kind>) -> Result<Raw<'c>, Trouble> {
        raw(self.stdin, self.settings, &self.accept, path, known)
    }
}

fn raw<'c>(
    stdin: &'c mut dyn Read,
    settings: &Settings,
    accept: &Accept,
    path: &Path,
    known: Option<Kind>,
) -> Result<Raw<'c>, Trouble> {
    let opened = if path.as_os_str() == "-" { None } else { Some(fs_file(path)?) };
    let (mut source, regular): (Box<dyn Read + 'c>, Option<fs::File>) = match opened {
        None => (Box::new(stdin), None),
        Some((file, false)) => (Box::new(file), None),
        Some((file, true)) => {
            let again = file.try_clone().map_err(|error| failed("open", error))?;
            (Box::new(file), Some(again))
        }
    };
    let mut head = Vec::new();
    fill(&mut source, &mut head, HEAD)?;
    let limit = u64::from(accept.limits.descriptor_bytes);
    let kind = match known {
        Some(kind) => kind,
        None => tell(&mut source, &mut head, path, limit)?,
    };
    Ok(match kind {
        Kind::File => {
            let word = kind::word(&head, path).filter(|_| told_by(&head) == Told::Other);
            let by_path = regular.is_some();
            let file = match regular {
                Some(file) => file,
                None => spool(&head, &mut source, settings.spool_limit)?,
            };
            Raw::File(RawFile { file, by_path, word })
        }
        Kind::Descriptor => {
            // One byte more than may be is enough to see that it is too much.
            let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
            fill(&mut source, &mut head, most)?;
            Raw::Descriptor(head)
        }
        Kind::Stream => Raw::Stream(Box::new(io::Cursor::new(head).chain(source))),
    })
}

/// An open file, and whether it can be read at any place.
fn fs_file(path: &Path) -> Result<(fs::File, bool), Trouble> {
    let opening = |error| Trouble::from(failed("open", error));
    let file = fs::File::open(path).map_err(opening)?;
    let is_regular = file.metadata().map_err(opening)?.is_file();
    Ok((file, is_regular))
}

/// Reads until `head` holds `length` bytes, or the input ends.
fn fill(source: &mut dyn Read, head: &mut Vec<u8>, length: usize) -> Result<(), Trouble> {
    let more = u64::try_from(length.saturating_sub(head.len())).unwrap_or(u64::MAX);
    source.take(more).read_to_end(head).map_err(Trouble::reading)?;
    Ok(())
}

/// The kind of an input nobody named. What begins as a descriptor is one alone where
/// nothing follows it, and else a stream.
fn tell(
    source: &mut dyn Read,
    head: &mut Vec<u8>,
    path: &Path,
    limit: u64,
) -> Result<Kind, Trouble> {
    match told_by(head) {
        Told::File => return Ok(Kind::File),
        _ if has_extension(path, "hrrys") => return Ok(Kind::Stream),
        Told::Other => return Ok(Kind::File),
        Told::Descriptors => {}
    }
    let Ok(length) = Descriptor::length_of(head) else {
        return Ok(Kind::Descriptor);
    };
    if u64::from(length) > limit {
        // A stream says what is wrong with that without reading it.
        return Ok(Kind::Stream);
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    fill(source, head, length.saturating_add(1))?;
    Ok(if head.len() > length { Kind::Stream } else { Kind::Descriptor })
}

fn open_file(
    raw: RawFile,
    path: &Path,
    settings: &Settings,
    accept: &Accept,
) -> Result<File, Error> {
    let options = OpenOptions { accept: *accept };
    if settings.no_map || !raw.by_path {
        return File::from_open(raw.file, path, &options);
    }
    // SAFETY: whoever runs the command was told, in its help, that files may not change
    // while it runs, and can choose --no-map; here that promise is passed on for them.
    unsafe { File::map_with(path, &options) }
}

fn report_access(file: &File, path: &Path, errors: &mut Output<'_>) {
    if let Access::Read { refused: Some(why) } = file.access() {
        let path = shown(path);
        let told = writeln!(errors, "hurray: {path} cannot be mapped ({why}); it is read instead");
        // Where even the complaint cannot be written, there is nobody to tell.
        let _ = told.and_then(|()| errors.flush());
    }
}

/// Copies a file that cannot be read at any place into a temporary one, which has no name
/// and so goes with the process.
fn spool(head: &[u8], rest: &mut dyn Read, limit: u64) -> Result<fs::File, Trouble> {
    let failed = |error| Trouble::from(failed("keep standard input in a temporary file", error));
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(head).map_err(failed)?;
    let left = limit.saturating_sub(u64::try_from(head.len()).unwrap_or(u64::MAX));
    io::copy(&mut rest.take(left), &mut file).map_err(failed)?;
    let mut more = Vec::new();
    fill(rest, &mut more, 1)?;
    if !more.is_empty() {
        let text =
            format!("it is longer than {}; --spool-limit takes more", crate::words::bytes(limit));
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    file.rewind().map_err(failed)?;
    Ok(file)
}
