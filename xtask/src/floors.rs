//! `cargo xtask floors`: a crate imports the floors below it, never its own neighbours,
//! and the lowest floor links no std.

use crate::{
    Outcome,
    metadata::{self, Package},
    no_arguments, no_std,
};

/// Each crate's floor. A crate of the workspace that is not here stands nowhere, and is refused.
const FLOORS: &[(&str, u8)] = &[
    ("hurray-format", 0),
    ("hurray-kernels", 1),
    ("hurray-tensor", 2),
    ("hurray-convert", 3),
    ("hurray-net", 3),
    ("hurray-capi", 4),
    ("hurray-cli", 4),
    ("hurray-python", 4),
];

/// Imports that are allowed although they lead to a neighbour.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The Python distribution also carries the command line.
    ("hurray-python", "hurray-cli"),
];

/// Not part of the building: nothing imports it, and it may import what it checks.
const OUTSIDE: &[&str] = &["xtask"];

pub(crate) fn command(arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    let metadata = metadata::read()?;
    let faults = faults(&metadata.packages);
    if !faults.is_empty() {
        return Err(faults.join("\n").into());
    }
    for package in &metadata.packages {
        if let Some(floor) = floor(&package.name) {
            println!("floor {floor}  {}", package.name);
        }
    }
    no_std::prove(&metadata.target_directory)
}

fn faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| !OUTSIDE.contains(&package.name.as_str())) {
        let Some(own) = floor(&package.name) else {
            faults
                .push(format!("{} has no floor: give it one in xtask/src/floors.rs", package.name));
            continue;
        };
        for import in &package.imports {
            let allowed = EXCEPTIONS.contains(&(package.name.as_str(), import.as_str()));
            if OUTSIDE.contains(&import.as_str()) {
                faults.push(format!("{} imports {import}", package.name));
            }
            // Its tests may ask a crate for features of its own.
            let is_itself = *import == package.name;
            // What has no floor is not ours: a dependency from outside.
            if let Some(below) = floor(import)
                && below >= own
                && !allowed
                && !is_itself
            {
                faults.push(format!(
                    "{} (floor {own}) imports {import} (floor {below})",
                    package.name
                ));
            }
        }
    }
    faults
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, imports: &[&str]) -> Package {
        Package {
            name: name.into(),
            version: "0.1.0".into(),
            imports: imports.iter().map(|&import| import.into()).collect(),
        }
    }

    #[test]
    fn downwards_is_fine() {
        let packages = [
            package(
                "hurray-tensor",
                &["hurray-format", "hurray-kernels", "hurray-tensor", "memmap2"],
            ),
            package("hurray-python", &["hurray-cli", "hurray-tensor"]),
            package("xtask", &["hurray-format", "hurray-cli"]),
        ];
        assert_eq!(faults(&packages), Vec::<String>::new());
    }

    #[test]
    fn upwards_sideways_and_nowhere_are_refused() {
        let packages = [
            package("hurray-format", &["hurray-kernels"]),
            package("hurray-convert", &["hurray-net"]),
            package("hurray-cli", &["hurray-python", "xtask"]),
            package("hurray-attic", &[]),
        ];
        assert_eq!(
            faults(&packages),
            [
                "hurray-format (floor 0) imports hurray-kernels (floor 1)",
                "hurray-convert (floor 3) imports hurray-net (floor 3)",
                "hurray-cli (floor 4) imports hurray-python (floor 4)",
                "hurray-cli imports xtask",
                "hurray-attic has no floor: give it one in xtask/src/floors.rs",
            ]
        );
    }
}
