//! `cargo xtask install-capi PREFIX`: libhurray with its headers, for C and C++ programs to find.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Outcome, metadata, run};

const CRATE: &str = "crates/hurray-capi";
const EXCHANGE: &str = "crates/hurray-tensor/include";

/// What a static libhurray wants to be linked with; `rustc --print native-static-libs` tells.
#[cfg(target_os = "macos")]
const STATIC_LIBS: &[&str] = &["-lSystem", "-lc", "-lm"];
#[cfg(not(target_os = "macos"))]
const STATIC_LIBS: &[&str] = &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// The shared library's name in the prefix, which is what programs ask for when they start (the
/// build script of hurray-capi says so), and the name that a linker looks for.
#[cfg(target_os = "macos")]
const SHARED: (&str, &str) = ("libhurray.1.dylib", "libhurray.dylib");
#[cfg(not(target_os = "macos"))]
const SHARED: (&str, &str) = ("libhurray.so.1", "libhurray.so");

pub(crate) fn command(arguments: &[String]) -> Outcome {
    let (prefix, profile) = match arguments {
        [prefix] => (prefix, Profile::Release),
        [prefix, flag] | [flag, prefix] if flag == "--debug" => (prefix, Profile::Debug),
        _ => return Err("one folder is taken, and --debug".into()),
    };
    for path in install(Path::new(prefix), profile)? {
        println!("installed  {}", path.display());
    }
    Ok(())
}

/// How the library is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    Debug,
}

/// Builds the library and puts everything in its place; says what is there then.
pub(crate) fn install(prefix: &Path, profile: Profile) -> Outcome<Vec<PathBuf>> {
    if !cfg!(unix) {
        return Err("on this platform take the library from `target`, by hand".into());
    }
    let mut build = run::cargo(&["build", "--package", "hurray-capi"]);
    if profile == Profile::Release {
        build.arg("--release");
    }
    run::show(&mut build)?;
    let metadata = metadata::read()?;
    let folder = if profile == Profile::Release { "release" } else { "debug" };
    let built = metadata.target_directory.join(folder);
    let root = run::root();
    let (shared, linked) = SHARED;

    let mut files = Vec::new();
    let mut put = |from: PathBuf, to: &str| -> Outcome {
        let to = prefix.join(to);
        place(&to)?;
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        files.push(to);
        Ok(())
    };
    put(built.join(linked), &format!("lib/{shared}"))?;
    put(built.join("libhurray.a"), "lib/libhurray.a")?;
    put(root.join(CRATE).join("include/hurray.h"), "include/hurray.h")?;
    for header in ["hurray_abi.h", "hurray_abi.hpp"] {
        put(root.join(EXCHANGE).join(header), &format!("include/{header}"))?;
    }
    files.push(link(&prefix.join("lib").join(linked), shared)?);

    let version = metadata.version_of("hurray-capi")?;
    let templates = [
        ("hurray.pc", "lib/pkgconfig", " "),
        ("hurray-config.cmake", "lib/cmake/hurray", ";"),
        ("hurray-config-version.cmake", "lib/cmake/hurray", ";"),
    ];
    for (name, folder, separator) in templates {
        let template = run::read(&root.join(CRATE).join("install").join(format!("{name}.in")))?;
        let text = template
            .replace("@VERSION@", &version)
            .replace("@STATIC_LIBS@", &STATIC_LIBS.join(separator))
            .replace("@SHARED_FILE@", shared)
            .replace("@SHARED_SONAME@", shared);
        let to = prefix.join(folder).join(name);
        place(&to)?;
        fs::write(&to, text)?;
        files.push(to);
    }
    Ok(files)
}

/// Makes room for a file: its folder, and nothing in its place. A library that programs have mapped
/// is replaced, not written over.
fn place(to: &Path) -> Outcome {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    match fs::remove_file(to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", to.display()).into())
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn link(at: &Path, target: &str) -> Outcome<PathBuf> {
    place(at)?;
    std::os::unix::fs::symlink(target, at)?;
    Ok(at.to_owned())
}

#[cfg(not(unix))]
fn link(at: &Path, _: &str) -> Outcome<PathBuf> {
    Err(format!("{}: no links on this platform", at.display()).into())
}
