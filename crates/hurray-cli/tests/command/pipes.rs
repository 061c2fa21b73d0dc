use std::io::Read;
use std::process::Stdio;

use crate::support::*;

/// A file whose listings are longer than any pipe holds.
fn long_file(folder: &tempfile::TempDir) -> std::path::PathBuf {
    hurray_file(folder, "long.hrry", |file| {
        (0..3000).try_for_each(|n| {
            file.tensor(&format!("{n}.{}", "x".repeat(100)), &bytes_descriptor(0), &[&[]])
        })
    })
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = folder();
    let path = long_file(&folder);
    for arguments in [
        arguments!["ls", path],
        arguments!["inspect", path],
        arguments!["inspect", "--json", path],
        arguments!["inspect", "--hex", path],
        arguments!["convert", path, "-", "--to", "hrrys"],
    ] {
        let mut child = command()
            .args(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = child.stdout.take().unwrap();
        reader.read_exact(&mut [0; 64]).unwrap();
        drop(reader);
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {errors}");
        assert_eq!(errors, "", "{arguments:?}");
    }
}

#[test]
fn a_file_comes_through_a_pipe() {
    let folder = folder();
    let bytes = std::fs::read(small_file(&folder)).unwrap();
    for command in ["verify", "inspect", "ls"] {
        hurray_fed(&bytes, arguments![command, "-"]).code(0);
    }
    assert_eq!(hurray_fed(&bytes, arguments!["ls", "-"]).text(), "w\tuint8\t[6]\t6\n");
    let cut = hurray_fed(&bytes[..bytes.len() - 1], arguments!["verify", "--json", "-"]).code(1);
    assert_eq!(cut.json()["path"], "-");
    assert_eq!(cut.json()["rule"], "file.trailer.magic");
}

#[test]
fn what_comes_through_a_pipe_is_kept_within_a_limit() {
    let folder = folder();
    let bytes = std::fs::read(small_file(&folder)).unwrap();
    let length = bytes.len().to_string();
    hurray_fed(&bytes, arguments!["verify", "--spool-limit", length, "-"]).code(0);
    let less = (bytes.len() - 1).to_string();
    let answer = hurray_fed(&bytes, arguments!["ls", "--spool-limit", less, "-"]).code(1);
    assert!(answer.errors.contains("--spool-limit takes more"), "{}", answer.errors);
    // A stream is read as it comes, and has no such limit.
    hurray_fed(&small_stream(), arguments!["verify", "--spool-limit", "1", "-"]).code(0);
}

#[cfg(unix)]
#[test]
fn nothing_is_left_of_what_came_through_a_pipe() {
    let (folder, spool) = (folder(), folder());
    let path = small_file(&folder);
    let done = command()
        .args(arguments!["verify", "-"])
        .env("TMPDIR", spool.path())
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    assert!(done.status.success());
    assert_eq!(std::fs::read_dir(spool.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = command().arg("explain").stdout(full).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(errors.contains("cannot write the output"), "{errors}");
}

#[test]
fn no_bar_is_drawn_into_a_pipe() {
    let folder = folder();
    let answer = hurray(arguments!["verify", small_file(&folder)]).code(0);
    assert_eq!(answer.errors, "");
}
