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

/// Output whose reader is gone before anything is written.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(writer)
}

#[test]
fn a_verdict_does_not_depend_on_who_listens() {
    let folder = folder();
    let path = small_file(&folder);
    let bad = vector("files/v16_coo.hrry");
    let mut bytes = std::fs::read(bad).unwrap();
    bytes.pop();
    let bad = folder.path().join("bad.hrry");
    std::fs::write(&bad, bytes).unwrap();
    for (paths, code) in [([&path, &path], 0), ([&bad, &path], 1), ([&path, &bad], 1)] {
        for json in [&["--json"][..], &[]] {
            let done = command().arg("verify").args(json).args(paths).stdout(closed()).output();
            let done = done.unwrap();
            assert_eq!(done.status.code(), Some(code), "{paths:?}");
            let errors = String::from_utf8_lossy(&done.stderr);
            assert!(!errors.contains("cannot write"), "{errors}");
        }
    }
    let done = command().args(["cat"]).arg(&path).arg("w").stdout(closed()).output().unwrap();
    assert_eq!(done.status.code(), Some(0));
}

#[cfg(unix)]
mod unix {
    use std::path::Path;

    use super::*;

    /// Runs a conversion of the small file to `out`, which standard output stands behind.
    fn convert_to(folder: &tempfile::TempDir, out: &Path) -> Answer {
        let path = small_file(folder);
        let done =
            command().args(arguments!["convert", path, out, "--to", "hrrys"]).output().unwrap();
        Answer {
            code: done.status.code().unwrap().try_into().unwrap(),
            bytes: done.stdout,
            errors: String::from_utf8(done.stderr).unwrap(),
        }
    }

    #[test]
    fn what_leads_to_a_pipe_is_written_to_and_stays() {
        let folder = folder();
        let link = folder.path().join("link.hrrys");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        let stream = [bytes_descriptor(6).encode(), vec![1, 2, 3, 4, 5, 6]].concat();
        for out in [Path::new("/dev/stdout"), Path::new("/dev/fd/1"), &link] {
            let answer = convert_to(&folder, out).code(0);
            assert_eq!(answer.bytes, stream, "{out:?}");
            assert!(answer.errors.contains("1 tensor"), "{}", answer.errors);
        }
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let null = convert_to(&folder, Path::new("/dev/null")).code(0);
        assert!(null.bytes.is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_told() {
        let folder = folder();
        let link = folder.path().join("link.hrrys");
        std::os::unix::fs::symlink("nothing", &link).unwrap();
        let answer = convert_to(&folder, &link).code(1);
        assert!(answer.errors.contains("a link that leads nowhere"), "{}", answer.errors);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    /// The descriptor of a stream's only tensor is written, and part of its data, when the
    /// command is killed.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_killed_conversion_leaves_nothing() {
        use std::io::Write;
        let folder = folder();
        let place = folder.path().canonicalize().unwrap();
        let mut child = command()
            .args(arguments!["convert", "-", place.join("x.hrry")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes_descriptor(1 << 30).encode()).unwrap();
        input.write_all(&vec![1; 1 << 20]).unwrap();
        let open = format!("/proc/{}/fd", child.id());
        let is_writing = || {
            std::fs::read_dir(&open).unwrap().any(|file| {
                let to = std::fs::read_link(file.unwrap().path());
                to.is_ok_and(|to| to.starts_with(&place))
            })
        };
        while !is_writing() {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    }
}
