//! Whole commands on a whole model: how long, and how much memory of their own.
//!
//! The `hurray` command converts, verifies and converts back the 91 MB sentence encoder that
//! `samples/whole_models.py` fetches; `cp` followed by `sync` of the same file is the yardstick. All
//! take turns, so that what disturbs the machine disturbs each alike.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Outcome, python, run};

/// How often each command runs.
const ROUNDS: usize = 7;
/// How often a running command's memory is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// What is measured as one.
struct Whole {
    name: &'static str,
    /// The file it makes, removed before each run: no run writes over another's.
    makes: Option<PathBuf>,
    /// The programs that run one after the other.
    programs: Vec<Vec<String>>,
}

pub(super) fn results(target: &Path) -> Outcome<Vec<Value>> {
    run::show(
        Command::new(python::interpreter()).arg(run::root().join("samples/whole_models.py")),
    )?;
    run::show(&mut run::cargo(&[
        "build",
        "--release",
        "--package",
        "hurray-cli",
        "--bin",
        "hurray",
    ]))?;
    let folder = target.join("bench-commands");
    fs::create_dir_all(&folder)?;

    let commands = commands(target, &folder);
    let mut measured: Vec<Vec<(Duration, u64)>> = commands.iter().map(|_| Vec::new()).collect();
    for round in 1..=ROUNDS {
        println!("whole commands, round {round} of {ROUNDS}");
        for (whole, samples) in commands.iter().zip(&mut measured) {
            if let Some(made) = whole.makes.as_ref().filter(|made| made.exists()) {
                fs::remove_file(made)?;
            }
            samples.push(measure(&whole.programs)?);
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(commands
        .iter()
        .zip(&mut measured)
        .map(|(whole, samples)| row(whole.name, samples))
        .collect())
}

fn commands(target: &Path, folder: &Path) -> Vec<Whole> {
    let hurray = target.join("release/hurray").display().to_string();
    let model =
        run::root().join("target/models/all-minilm-l6-v2.safetensors").display().to_string();
    let file = |name: &str| folder.join(name).display().to_string();
    let (copy, hrry, back) = (file("copy"), file("model.hrry"), file("back.safetensors"));
    let whole = |name, makes: Option<&String>, programs: &[&[&str]]| Whole {
        name,
        makes: makes.map(PathBuf::from),
        programs: programs
            .iter()
            .map(|words| words.iter().map(|&word| word.into()).collect())
            .collect(),
    };
    vec![
        whole("cp and sync", Some(&copy), &[&["cp", &model, &copy], &["sync", &copy]]),
        whole(
            "hurray convert, safetensors to Hurray",
            Some(&hrry),
            &[&[&hurray, "convert", &model, &hrry]],
        ),
        whole("hurray verify", None, &[&[&hurray, "verify", &hrry]]),
        whole(
            "hurray convert, Hurray to safetensors",
            Some(&back),
            &[&[&hurray, "convert", &hrry, &back]],
        ),
    ]
}

/// How long the programs take together, and the most private memory (in bytes) one of them had.
fn measure(programs: &[Vec<String>]) -> Outcome<(Duration, u64)> {
    let start = Instant::now();
    let mut peak = 0;
    for words in programs {
        let (program, arguments) = words.split_first().ok_or("a command without words")?;
        let mut child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            peak = peak.max(private_memory(&child));
            thread::sleep(LOOK);
        };
        if !status.success() {
            return Err(format!("{} ended with {status}", words.join(" ")).into());
        }
    }
    Ok((start.elapsed(), peak))
}

/// Resident memory that no file backs, in bytes; 0 where the system does not tell.
fn private_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let kibibytes =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
    kibibytes
        .and_then(|number| number.parse::<u64>().ok())
        .map_or(0, |number| number.saturating_mul(1024))
}

fn row(name: &str, samples: &mut [(Duration, u64)]) -> Value {
    samples.sort();
    let nanoseconds =
        |at: usize| samples.get(at).map_or(0.0, |(time, _)| time.as_secs_f64() * 1e9).round();
    json!({
        "name": name,
        "median_ns": nanoseconds(samples.len() / 2),
        "least_ns": nanoseconds(0),
        "most_ns": nanoseconds(samples.len().saturating_sub(1)),
        "peak_private_bytes": samples.iter().map(|(_, peak)| *peak).max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let sample = |milliseconds, peak| (Duration::from_millis(milliseconds), peak);
        let row = row("x", &mut [sample(30, 5), sample(10, 9), sample(20, 7)]);
        let expected = json!({
            "name": "x", "median_ns": 20e6, "least_ns": 10e6, "most_ns": 30e6, "peak_private_bytes": 9,
        });
        assert_eq!(row, expected);
    }
}
