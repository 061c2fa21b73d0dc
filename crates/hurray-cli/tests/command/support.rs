//! Running the command, and files to run it on.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hurray_tensor::format::{Descriptor, Dtype, Error};
use hurray_tensor::{FileWriter, WriteOptions};
use serde_json::Value as Json;

/// What the command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u8,
    pub(crate) bytes: Vec<u8>,
    pub(crate) errors: String,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("output is UTF-8")
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// One JSON value a line.
    pub(crate) fn json_lines(&self) -> Vec<Json> {
        self.text().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// The same answer, which must have this code.
    #[track_caller]
    pub(crate) fn code(self, code: u8) -> Self {
        assert_eq!(self.code, code, "{}\n{}", String::from_utf8_lossy(&self.bytes), self.errors);
        self
    }
}

/// The arguments of a call, paths and texts mixed.
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => {
        vec![$(std::ffi::OsString::from(AsRef::<std::ffi::OsStr>::as_ref(&$argument))),*]
    };
}
pub(crate) use arguments;

/// The command with nothing in its environment that changes what it prints.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hurray"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the binary.
pub(crate) fn hurray(arguments: impl AsRef<[OsString]>) -> Answer {
    hurray_fed(b"", arguments)
}

/// Runs the binary with these bytes as its standard input.
pub(crate) fn hurray_fed(input: &[u8], arguments: impl AsRef<[OsString]>) -> Answer {
    let mut child = command()
        .args(arguments.as_ref())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let output = std::thread::scope(|scope| {
        // The command may not want all of it.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the command ends")
    });
    let code = output.status.code().expect("the command was not killed");
    Answer {
        code: u8::try_from(code).expect("a small code"),
        bytes: output.stdout,
        errors: String::from_utf8(output.stderr).expect("complaints are UTF-8"),
    }
}

/// Runs the same in this process, where thousands of runs are wanted.
pub(crate) fn hurray_here(input: &[u8], arguments: impl AsRef<[OsString]>) -> Answer {
    here(input, arguments.as_ref(), false)
}

/// Runs the same with an output that is told to be a terminal.
pub(crate) fn hurray_on_terminal(arguments: impl AsRef<[OsString]>) -> Answer {
    here(b"", arguments.as_ref(), true)
}

fn here(mut input: &[u8], arguments: &[OsString], output_is_terminal: bool) -> Answer {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let streams = hurray_cli::Streams {
        input: &mut input,
        output: &mut output,
        errors: &mut errors,
        output_is_terminal,
        errors_are_terminal: false,
    };
    let all = std::iter::once(OsString::from("hurray")).chain(arguments.iter().cloned());
    let code = hurray_cli::run(all, streams);
    Answer { code, bytes: output, errors: String::from_utf8(errors).expect("UTF-8") }
}

/// A folder of the test's own, gone when it ends.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn sample() -> PathBuf {
    root().join("samples/all-minilm-l6-v2.sample.safetensors")
}

/// The sample, converted.
pub(crate) fn sample_as_hurray(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("sample.hrry");
    hurray(arguments!["convert", sample(), path]).code(0);
    path
}

/// A file of the `vectors` folder.
pub(crate) fn vector(name: &str) -> PathBuf {
    root().join("vectors").join(name)
}

/// The lines of a file of vectors, and what `valid` says of each.
pub(crate) fn lines(name: &str, valid: bool) -> Vec<Json> {
    let text = std::fs::read_to_string(vector(name)).expect(name);
    let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    lines.filter(|line| line["valid"] == valid).collect()
}

pub(crate) fn unhex(text: &Json) -> Vec<u8> {
    let text = text.as_str().expect("digits").as_bytes();
    let digit = |c: u8| u8::try_from(char::from(c).to_digit(16).expect("a digit")).unwrap();
    text.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

pub(crate) fn bytes_descriptor(count: u64) -> Descriptor {
    Descriptor::dense(Dtype::UInt8, &[count]).expect("a descriptor")
}

/// Writes a file at `folder/name`.
pub(crate) fn hurray_file(
    folder: &tempfile::TempDir,
    name: &str,
    write: impl FnOnce(&mut FileWriter<&mut Vec<u8>>) -> hurray_tensor::Result<()>,
) -> PathBuf {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::new(&mut bytes, WriteOptions::default()).expect("a file");
    write(&mut writer).expect("the file is written");
    writer.finish().expect("the file is finished");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("the file is saved");
    path
}

/// A file with one tensor, `w`, of the bytes 1 to 6.
pub(crate) fn small_file(folder: &tempfile::TempDir) -> PathBuf {
    hurray_file(folder, "small.hrry", |file| {
        file.tensor("w", &bytes_descriptor(6), &[&[1, 2, 3, 4, 5, 6]])
    })
}

/// The same with a byte of "w" changed, which its checksum does not allow.
pub(crate) fn corrupt_file(folder: &tempfile::TempDir) -> PathBuf {
    let path = small_file(folder);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|six| six == [1, 2, 3, 4, 5, 6]).unwrap();
    bytes[at] = 9;
    std::fs::write(&path, &bytes).unwrap();
    path
}

/// A plain stream of the tensors [1, 2] and [3].
pub(crate) fn small_stream() -> Vec<u8> {
    [bytes_descriptor(2).encode(), vec![1, 2], bytes_descriptor(1).encode(), vec![3]].concat()
}

/// A float descriptor whose layout tag is one that no version has yet.
pub(crate) fn unknown_layout() -> Result<Vec<u8>, Error> {
    let mut bytes = Descriptor::dense(Dtype::Float32, &[1])?.encode();
    bytes[15] = 0x33;
    Ok(bytes)
}
