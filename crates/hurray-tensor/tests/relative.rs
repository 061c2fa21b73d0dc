//! Paths without a folder. The folder a process is in is its own, so this has a process of
//! its own.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail loudly")]

use std::env::set_current_dir;
use std::fs;
use std::io::Write;

use hurray_tensor::{AtomicFile, Error, File, WriteOptions, save};

#[test]
fn a_path_without_a_folder_means_the_one_where_it_was_given() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    set_current_dir(here.path()).unwrap();
    save("model.hrry", WriteOptions::default(), |_| Ok::<_, Error>(())).unwrap();
    assert!(File::open("model.hrry").unwrap().is_empty());
    assert!(here.path().join("model.hrry").is_file());

    for name in ["model.hrry", "new.hrry"] {
        set_current_dir(here.path()).unwrap();
        let mut file = AtomicFile::create(name).unwrap();
        file.write_all(b"bytes").unwrap();
        set_current_dir(there.path()).unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(here.path().join(name)).unwrap(), b"bytes");
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 2);
    assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
}
