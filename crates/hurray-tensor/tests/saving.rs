//! Saving: a file appears whole or not at all, and nobody who looks meanwhile is harmed.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and maps its own files"
)]

mod support;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hurray_tensor::format::*;
use hurray_tensor::{AtomicFile, Error, File, WriteOptions, save};
use support::samples;
use tempfile::tempdir;

fn bytes_of(length: u64) -> Descriptor {
    Descriptor::dense(Dtype::UInt8, &[length]).unwrap()
}

/// Saves a file of one tensor `w`.
fn save_bytes(path: &Path, bytes: &[u8]) -> hurray_tensor::Result<()> {
    save(path, WriteOptions::default(), |file| {
        file.tensor("w", &bytes_of(bytes.len() as u64), &[bytes])
    })
}

fn saved_bytes(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap();
    file.verify(&mut |_| {}).unwrap();
    file.get("w").unwrap().read_buffer(0).unwrap().to_vec()
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    names
}

#[test]
fn whatever_goes_wrong_the_old_file_stays_and_nothing_else() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    let other = folder.path().join("new.hrry");
    save_bytes(&path, &[1, 2, 3]).unwrap();
    let before = fs::read(&path).unwrap();
    for path in [&path, &other] {
        let options = WriteOptions::default;
        // The caller's own error.
        #[derive(Debug)]
        enum Mine {
            Gave,
            Theirs,
        }
        impl From<Error> for Mine {
            fn from(_: Error) -> Self {
                Self::Theirs
            }
        }
        let gave = save(path, options(), |file| {
            file.tensor("w", &bytes_of(700_000), &[&vec![5; 700_000]])?;
            Err(Mine::Gave)
        });
        assert!(matches!(gave, Err(Mine::Gave)));

        // A rule.
        let error = save(path, options(), |file| file.tensor("w", &bytes_of(3), &[&[1]]));
        let error = error.unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FileTensorBufferLength));

        // A tensor left half written, which the caller does not mind.
        let error = save(path, options(), |file| {
            let fill = &mut |_, out: &mut dyn Write| out.write_all(&[1]);
            assert!(file.tensor_from("w", &bytes_of(3), fill).is_err());
            Ok::<_, Error>(())
        });
        assert!(matches!(error, Err(Error::Io { .. })));

        // An alignment that cannot be.
        let mut wrong = options();
        wrong.file.alignment = 100;
        let error = save(path, wrong, |_| Ok::<_, Error>(())).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FileHeaderAlignmentNotPowerOfTwo));
        assert_eq!(error.place().path.as_deref(), Some(&**path));

        // A panic.
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            save(path, options(), |file| {
                file.tensor("w", &bytes_of(3), &[&[1, 2, 3]])?;
                panic!("on the way");
                #[expect(unreachable_code, reason = "gives the closure its type")]
                Ok::<_, Error>(())
            })
        }));
        assert!(panicked.is_err());

        // Given up.
        AtomicFile::create(path).unwrap().write_all(&[1, 2, 3]).unwrap();

        assert_eq!(names(folder.path()), ["model.hrry"]);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_may_be_saved_over_while_it_is_read_from() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    let samples = samples();
    let from = |file: &File| {
        save(&path, WriteOptions::default(), |out| {
            for tensor in file.in_file_order() {
                let tensor = tensor?;
                out.tensor_from(tensor.name(), tensor.descriptor(), &mut |place, out| {
                    tensor.copy_buffer(place, out).map(drop).map_err(io::Error::other)
                })?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    };
    fs::write(&path, support::file_of(&samples, WriteOptions::default())).unwrap();
    let original = fs::read(&path).unwrap();
    let read = File::open(&path).unwrap();
    // SAFETY: nobody writes to the file; it is only replaced.
    let mapped = unsafe { File::map(&path) }.unwrap();
    let slices: Vec<(&str, &[u8])> = samples
        .iter()
        .filter_map(|sample| Some((sample.name, mapped.get(sample.name).unwrap().mapped(0)?)))
        .collect();

    from(&read);
    from(&mapped);
    assert_eq!(fs::read(&path).unwrap(), original);
    save_bytes(&path, &[9; 5000]).unwrap();
    assert_eq!(saved_bytes(&path), [9; 5000]);

    // Those who had it open still have the one they opened.
    for file in [&read, &mapped] {
        file.verify(&mut |_| {}).unwrap();
    }
    for (name, bytes) in slices {
        let sample = samples.iter().find(|sample| sample.name == name).unwrap();
        assert_eq!(bytes, sample.buffers[0], "{name}");
    }
    assert_eq!(names(folder.path()), ["model.hrry"]);
}

#[test]
fn two_savers_at_once_leave_one_whole_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || save_bytes(path, &[n; 100_000]).unwrap());
        }
    });
    let bytes = saved_bytes(&path);
    assert_eq!(bytes.len(), 100_000);
    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(names(folder.path()), ["model.hrry"]);
}

#[test]
fn paths_that_name_no_file_are_refused() {
    let folder = tempdir().unwrap();
    let inside = folder.path().join("none").join("model.hrry");
    for path in [Path::new(""), Path::new("/"), Path::new(".."), folder.path(), &inside] {
        let error = save_bytes(path, &[1]).unwrap_err();
        assert!(matches!(error, Error::Io { doing: "create", .. }), "{path:?}: {error}");
        assert_eq!(error.place().path.as_deref(), Some(path));
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_name_may_be_as_long_as_names_are() {
    let folder = tempdir().unwrap();
    for length in [199, 200, 201, 255] {
        let path = folder.path().join("n".repeat(length));
        save_bytes(&path, &[1]).unwrap();
        save_bytes(&path, &[2]).unwrap();
        assert_eq!(saved_bytes(&path), [2]);
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_permissions_of_a_file_are_kept() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("model.hrry");
        save_bytes(&path, &[1]).unwrap();
        for kept in [0o600, 0o640, 0o666, 0o755, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            save_bytes(&path, &[2]).unwrap();
            assert_eq!(mode(&path), kept);
        }
    }

    /// What leads to a pipe by a link of `/proc`, as `/dev/stdout` does, is no dangling link.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_to_an_open_pipe_is_not_replaced() {
        use std::os::fd::AsRawFd;
        let (_reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let error = save_bytes(Path::new(&path), &[1]).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
        let folder = tempdir().unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        let error = save_bytes(&link, &[1]).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
        assert_eq!(names(folder.path()), ["link"]);
    }

    #[test]
    fn a_new_file_has_the_permissions_that_new_files_have() {
        let folder = tempdir().unwrap();
        let ordinary = folder.path().join("ordinary");
        fs::write(&ordinary, "").unwrap();
        let path = folder.path().join("model.hrry");
        save_bytes(&path, &[1]).unwrap();
        assert_eq!(mode(&path), mode(&ordinary));
    }

    #[test]
    fn a_link_is_followed_and_stays_a_link() {
        let folder = tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let (file, link) = (inner.join("real.hrry"), folder.path().join("link.hrry"));
        save_bytes(&file, &[1]).unwrap();
        symlink("inner/real.hrry", &link).unwrap();
        save_bytes(&link, &[2]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(saved_bytes(&file), [2]);
        assert_eq!(names(&inner), ["real.hrry"]);
    }

    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        let folder = tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        symlink("folder", at("to a folder")).unwrap();
        symlink("nothing", at("to nothing")).unwrap();
        symlink("in a circle", at("in a circle")).unwrap();
        let permissions = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, permissions, 0).unwrap();
        symlink("pipe", at("to a pipe")).unwrap();
        let before = names(folder.path());
        for name in
            ["folder", "to a folder", "to nothing", "in a circle", "pipe", "to a pipe", "/dev/null"]
        {
            let error = save_bytes(&at(name), &[1]).unwrap_err();
            assert!(matches!(error, Error::Io { doing: "create", .. }), "{name}: {error}");
        }
        assert_eq!(names(folder.path()), before);
        assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());
        assert!(fs::symlink_metadata(at("to nothing")).unwrap().is_symlink());
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    /// What is put into a folder's place meanwhile is not replaced either.
    #[test]
    fn a_commit_that_cannot_be_leaves_nothing_behind() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("model.hrry");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"bytes").unwrap();
        fs::create_dir(&path).unwrap();
        let error = file.commit().unwrap_err();
        assert!(matches!(error, Error::Io { doing: "rename", .. }), "{error}");
        assert_eq!(names(folder.path()), ["model.hrry"]);
    }
}
