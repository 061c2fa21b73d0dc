//! What Criterion leaves under `target/criterion`: one folder per benchmark, with
//! `new/benchmark.json` (its names) and `new/estimates.json` (its times, in nanoseconds).

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{Outcome, run};

/// One row for each benchmark, by group and name.
pub(super) fn results(folder: &Path) -> Outcome<Vec<Value>> {
    let mut rows = Vec::new();
    collect(folder, &mut rows)?;
    rows.sort_by_key(|row| {
        (row.get("group").map(Value::to_string), row.get("name").map(Value::to_string))
    });
    Ok(rows)
}

fn collect(folder: &Path, rows: &mut Vec<Value>) -> Outcome {
    if !folder.is_dir() {
        return Ok(());
    }
    let new = folder.join("new");
    if new.join("benchmark.json").exists() {
        let names = serde_json::from_str(&run::read(&new.join("benchmark.json"))?)?;
        let estimates = serde_json::from_str(&run::read(&new.join("estimates.json"))?)?;
        rows.push(row(&names, &estimates)?);
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        collect(&entry?.path(), rows)?;
    }
    Ok(())
}

fn row(names: &Value, estimates: &Value) -> Outcome<Value> {
    let name = |key: &str| names.get(key).and_then(Value::as_str);
    let time = |estimate: &str| {
        let value = estimates.get(estimate)?.get("point_estimate")?.as_f64();
        value.map(|nanoseconds| (nanoseconds * 10.0).round() / 10.0)
    };
    let full = name("full_id").ok_or("a Criterion result without its name")?;
    let of_group = [name("function_id"), name("value_str")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    Ok(json!({
        "group": name("group_id").unwrap_or(full),
        "name": if of_group.is_empty() { full } else { &of_group },
        "median_ns": time("median").ok_or_else(|| format!("{full} has no median"))?,
        "spread_ns": time("median_abs_dev").ok_or_else(|| format!("{full} has no spread"))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_becomes_a_row() {
        let names = json!({"group_id": "decode", "function_id": "hurray", "value_str": "rank 4", "full_id": "decode/hurray/rank 4"});
        let estimates = json!({"median": {"point_estimate": 18.26}, "median_abs_dev": {"point_estimate": 0.31}});
        let expected = json!({"group": "decode", "name": "hurray rank 4", "median_ns": 18.3, "spread_ns": 0.3});
        assert_eq!(row(&names, &estimates).unwrap(), expected);
    }

    #[test]
    fn a_result_without_times_is_an_error() {
        let names = json!({"group_id": "decode", "function_id": null, "value_str": null, "full_id": "decode"});
        assert_eq!(row(&names, &json!({})).unwrap_err().to_string(), "decode has no median");
    }
}
