//! What `cargo metadata` says about the workspace.

use std::path::PathBuf;

use serde_json::Value;

use crate::{Outcome, run};

/// The workspace's own packages and where it builds.
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

impl Metadata {
    /// The version of one of the packages.
    pub(crate) fn version_of(&self, name: &str) -> Outcome<String> {
        let package = self.packages.iter().find(|package| package.name == name);
        Ok(package.ok_or_else(|| format!("there is no package {name}"))?.version.clone())
    }
}

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Names of the packages it depends on, whatever for: to run, to build, to test.
    pub(crate) imports: Vec<String>,
}

/// Asks cargo. Only the manifests are read, no dependency is resolved.
pub(crate) fn read() -> Outcome<Metadata> {
    let output = run::keep(&mut run::cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let value: Value = serde_json::from_slice(&output.stdout)?;
    Ok(Metadata {
        packages: items(&value, "packages").map(package).collect(),
        target_directory: text(&value, "target_directory").into(),
    })
}

fn package(value: &Value) -> Package {
    Package {
        name: text(value, "name"),
        version: text(value, "version"),
        imports: items(value, "dependencies").map(|dependency| text(dependency, "name")).collect(),
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
