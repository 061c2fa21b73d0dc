use crate::support::*;

#[test]
fn the_demo_proves_that_nothing_is_lost() {
    let answer = hurray(arguments!["demo"]).code(0);
    assert_eq!(answer.errors, "");
    assert_eq!(answer.text().lines().filter(|line| line.starts_with("equal ")).count(), 30);
    assert!(answer.text().contains("\nnothing lost: 30 tensors, "), "{}", answer.text());
    assert!(answer.text().contains(": intact, file, 30 tensors (all with checksums)"));
    // What was made is gone.
    let path = answer.text().lines().nth(2).unwrap().split(" (").next().unwrap();
    assert!(path.ends_with("model.safetensors"), "{path}");
    assert!(!std::path::Path::new(path).exists());
}

#[test]
fn the_demo_leaves_its_files_when_asked() {
    let folder = folder();
    let kept = folder.path().join("new/folder");
    hurray(arguments!["demo", "--keep", kept]).code(0);
    let sample = std::fs::read(sample()).unwrap();
    assert_eq!(std::fs::read(kept.join("model.safetensors")).unwrap(), sample);
    hurray(arguments!["verify", kept.join("model.hrry")]).code(0);
    assert!(kept.join("back.safetensors").is_file());
}

#[test]
fn the_demo_replaces_nothing() {
    for name in ["model.safetensors", "model.hrry", "back.safetensors"] {
        let folder = folder();
        let mine = folder.path().join(name);
        std::fs::write(&mine, "mine").unwrap();
        let answer = hurray(arguments!["demo", "--keep", folder.path()]).code(1);
        assert!(answer.errors.contains(&format!("{name} is there already")), "{}", answer.errors);
        assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
