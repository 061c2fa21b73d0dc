#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, symlink};

use tempfile::tempdir;

use super::*;

/// As where no file can be without a name.
fn named(path: &Path) -> AtomicFile {
    AtomicFile::beside(path, Unfinished::named).unwrap()
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    names
}

/// The file being written, which is the one that is not `known`.
fn sibling(folder: &Path, known: &[&str]) -> OsString {
    let mut names = names(folder);
    names.retain(|name| !known.iter().any(|known| name == known));
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0)
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_being_written_has_no_name() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    let mut file = AtomicFile::create(&path).unwrap();
    assert!(matches!(file.file, Unfinished::Unnamed(_)), "{file:?}");
    file.write_all(b"bytes").unwrap();
    assert!(names(folder.path()).is_empty());
    file.commit().unwrap();
    assert_eq!(names(folder.path()), ["model.hrry"]);
    assert_eq!(fs::read(&path).unwrap(), b"bytes");
}

#[test]
fn where_it_needs_a_name_it_goes_with_it() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    let mut file = named(&path);
    file.write_all(b"bytes").unwrap();
    drop(file);
    assert!(names(folder.path()).is_empty());
    for bytes in [&b"bytes"[..], b"other"] {
        let mut file = named(&path);
        file.write_all(bytes).unwrap();
        file.commit().unwrap();
        assert_eq!(names(folder.path()), ["model.hrry"]);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let file = named(&path);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(file.commit(), Err(Error::Io { doing: "rename", .. })));
    assert_eq!(names(folder.path()), ["model.hrry"]);
}

/// S22: a name that could be guessed could be a link somebody else put there.
#[test]
fn the_name_is_its_own() {
    let folder = tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let path = folder.path().join("model.hrry");
    let pid = std::process::id();
    let planted = [
        "model.hrry.tmp".to_owned(),
        "model.hrry.part".to_owned(),
        ".model.hrry.part".to_owned(),
        ".model.hrry..part".to_owned(),
        ".model.hrry.0.part".to_owned(),
        format!("model.hrry.{pid}"),
        format!(".model.hrry.{pid}.part"),
    ];
    for name in &planted {
        symlink(&victim, folder.path().join(name)).unwrap();
    }
    let mut known: Vec<&str> = planted.iter().map(String::as_str).collect();
    known.extend(["victim", "model.hrry"]);

    let mut seen = Vec::new();
    for _ in 0..3 {
        let file = named(&path);
        let name = sibling(folder.path(), &known);
        let metadata = fs::symlink_metadata(folder.path().join(&name)).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.nlink(), 1);
        seen.push(name);
        file.commit().unwrap();
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 3, "a new name each time");
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert_eq!(names(folder.path()).len(), known.len());
}

#[test]
fn who_may_read_the_old_file_may_read_the_new_one_and_nobody_else_ever() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    fs::write(&path, "old").unwrap();
    let mode = |file: &fs::File| file.metadata().unwrap().mode() & 0o7777;
    for kept in [0o600, 0o640, 0o666, 0o755, 0o400] {
        for create in [Unfinished::named, Unfinished::create] {
            fs::set_permissions(&path, permissions(kept)).unwrap();
            // Before the permissions are set it has those, less what the umask takes.
            let sibling = Sibling::of(&path).unwrap();
            let file = create(&sibling, Some(&permissions(kept))).unwrap();
            assert_eq!(mode(file.as_file()) & !kept, 0);
            drop(file);
            let file = AtomicFile::beside(&path, create).unwrap();
            assert_eq!(mode(file.file.as_file()), kept);
            file.commit().unwrap();
            assert_eq!(mode(&fs::File::open(&path).unwrap()), kept);
        }
    }
}
