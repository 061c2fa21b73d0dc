//! `docs/benchmarks.md`, made from the record.

use serde_json::Value;

const FOREWORD: &str = "\
# Benchmarks

Made by `cargo xtask bench` from `benchmarks.json` beside it; not edited by hand. Numbers are one
machine's, on one commit: compare them within this page only.

";

/// What rows are that do not say it by their name.
const ROWS: &[(&str, &str)] = &[
    ("hurray-in-place", "as `hurray`, but the arrays stay in the input"),
    ("hurray-allocating", "as `hurray`, into a new vector each time"),
    ("hurray-tensor", "as `hurray`, and a tensor of our own is made of it, which holds the memory"),
    ("hurray-export", "its first half: exported, and released by whom it was exported by"),
    ("hurray-core", "the published crate of that name, an implementation independent of this one"),
    ("dlpark", "the published crate, which exports and imports DLPack tensors"),
    ("safetensors", "the published crate, reading a file of the same tensors"),
];

/// What is to be known before a group is read.
const NOTES: &[(&str, &str)] = &[
    (
        "hand a tensor over",
        "Both share the memory by an atomic count and take one allocation on each side. DLPack's struct carries a shape and
strides. Ours carries a descriptor, which is encoded, decoded and checked by every rule of the format, and for each
buffer a struct of 216 bytes: its handle, device, synchronisation and driver objects, each field held against the
descriptor. Of `hurray`, the export and its release are about a half, reading the descriptor a quarter.",
    ),
    (
        "allocate memory, copy into it and drop it",
        "Where memory of 64 KiB takes longer than a vector of as much, it was at the end of the heap: the allocator gives it
back to the system when it is dropped, and touches fresh pages each time. Which of the two meets that depends on what ran
before; alone both take about 2 µs.",
    ),
];

const AFTERWORD: &str = "
Median and spread are Criterion's; the spread is the median absolute deviation. *Against hurray* is
the median divided by that of the row named `hurray` (with the same parameter) in the same group.
Whole commands took turns, so that disturbance meets each alike; their memory is resident memory that
no file backs, looked at every millisecond.
";

/// The page for a record.
pub(super) fn of(record: &Value) -> String {
    let mut page = String::from(FOREWORD);
    let machine = record.get("machine");
    for fact in ["processor", "cores", "system", "compiler", "commit"] {
        if let Some(value) = machine.and_then(|machine| machine.get(fact)) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            page.push_str(&format!("* {fact}: {value}\n"));
        }
    }
    legend(rows(record, "benches"), &mut page);
    benches(rows(record, "benches"), &mut page);
    commands(rows(record, "commands"), &mut page);
    page.push_str(AFTERWORD);
    page
}

/// Explains the names that are on the page.
fn legend(rows: &[Value], page: &mut String) {
    let is_there = |name: &str| rows.iter().any(|row| subject(text(row, "name")) == name);
    let known: Vec<_> = ROWS.iter().filter(|(name, _)| is_there(name)).collect();
    if !known.is_empty() {
        page.push_str("\n`hurray` is this repository. Beside it:\n\n");
    }
    for (name, meaning) in known {
        page.push_str(&format!("* `{name}`: {meaning}\n"));
    }
}

/// Whom a row is about: its name without a parameter.
fn subject(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(subject, _)| subject)
}

fn benches(rows: &[Value], page: &mut String) {
    let mut group = "";
    for row in rows {
        if text(row, "group") != group {
            group = text(row, "group");
            let note = NOTES.iter().find(|(about, _)| *about == group);
            let note = note.map_or(String::new(), |(_, note)| format!("{note}\n\n"));
            page.push_str(&format!(
                "\n## {group}\n\n{note}| | median | spread | against hurray |\n|---|--:|--:|--:|\n"
            ));
        }
        let name = text(row, "name");
        let against =
            ours(rows, group, name).and_then(|ours| ratio(number(row, "median_ns"), ours));
        page.push_str(&format!(
            "| {name} | {} | ± {} | {} |\n",
            time(number(row, "median_ns")),
            time(number(row, "spread_ns")),
            against.unwrap_or_default(),
        ));
    }
}

/// The median of the group's row `hurray` with the parameter that `name` has.
fn ours(rows: &[Value], group: &str, name: &str) -> Option<f64> {
    let parameter = name.split_once(' ').map_or("", |(_, parameter)| parameter);
    let wanted = format!("hurray {parameter}");
    let row = rows
        .iter()
        .find(|row| text(row, "group") == group && text(row, "name") == wanted.trim_end())?;
    Some(number(row, "median_ns"))
}

fn commands(rows: &[Value], page: &mut String) {
    if rows.is_empty() {
        return;
    }
    page.push_str("\n## Whole commands\n\nOn a model of 104 tensors, 90,868,376 bytes.\n\n");
    page.push_str("| | median | least to most | peak private memory |\n|---|--:|--:|--:|\n");
    for row in rows {
        page.push_str(&format!(
            "| {} | {} | {} to {} | {:.1} MiB |\n",
            text(row, "name"),
            time(number(row, "median_ns")),
            time(number(row, "least_ns")),
            time(number(row, "most_ns")),
            number(row, "peak_private_bytes") / 1024.0 / 1024.0,
        ));
    }
}

/// A time in the unit that keeps it between 1 and 1000, three digits long.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

fn ratio(value: f64, ours: f64) -> Option<String> {
    (ours > 0.0).then(|| format!("{:.2}", value / ours))
}

fn rows<'a>(record: &'a Value, key: &str) -> &'a [Value] {
    record.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Value, key: &str) -> f64 {
    row.get(key).and_then(Value::as_f64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_compared_with_ours_of_the_same_parameter() {
        let bench = |name: &str, median: f64| json!({"group": "decode", "name": name, "median_ns": median, "spread_ns": 0.5});
        let record = json!({
            "machine": {"cores": 2, "commit": "abc"},
            "benches": [
                bench("hurray int4", 30.0), bench("hurray rank 4", 20.0),
                bench("hurray-core int4", 120.0), bench("hurray-core rank 4", 85.0),
            ],
            "commands": [{
                "name": "cp and sync", "median_ns": 120e6, "least_ns": 99e6, "most_ns": 2e9,
                "peak_private_bytes": 1_572_864,
            }],
        });
        let page = of(&record);
        assert!(page.contains("* cores: 2\n* commit: abc\n"), "{page}");
        assert!(page.contains("| hurray-core int4 | 120 ns | ± 0.50 ns | 4.00 |"), "{page}");
        assert!(page.contains("| hurray-core rank 4 | 85.0 ns | ± 0.50 ns | 4.25 |"), "{page}");
        assert!(page.contains("* `hurray-core`: the published"), "{page}");
        assert!(!page.contains("dlpark"), "{page}");
        assert!(page.contains("| cp and sync | 120 ms | 99.0 ms to 2.00 s | 1.5 MiB |"), "{page}");
    }
}
