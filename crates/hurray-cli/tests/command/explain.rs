use crate::support::*;

#[test]
fn a_rule_is_explained() {
    let answer = hurray(arguments!["explain", "layout.buffer-too-small"]).code(0);
    let expected = "\
layout.buffer-too-small
  broken when  dense data buffer below the layout's minimum
  fault        corrupt: the bytes break a rule of the format
  page         04 of the specification, layouts and composites
  to read      docs/spec/04-layouts.md of the repository
";
    assert_eq!(answer.text(), expected);
}

#[test]
fn every_rule_is_listed_and_explained() {
    let answer = hurray(arguments!["explain"]).code(0);
    let ids: Vec<&str> = answer.text().lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(ids.len(), hurray_tensor::format::Rule::ALL.len());
    for id in ids {
        let one = hurray_here(b"", arguments!["explain", id]).code(0);
        assert!(one.text().starts_with(&format!("{id}\n  broken when  ")), "{}", one.text());
    }
}

#[test]
fn the_start_of_rules_lists_them() {
    let answer = hurray(arguments!["explain", "layout.coo"]).code(0);
    assert!(answer.text().lines().count() > 3);
    assert!(answer.text().lines().all(|line| line.starts_with("layout.coo.")));
}

#[test]
fn a_misspelled_rule_gets_the_nearest() {
    let answer = hurray(arguments!["explain", "file.hedaer.magic"]).code(2);
    assert!(answer.errors.contains("the nearest is file.header.magic\n"), "{}", answer.errors);
    assert!(answer.bytes.is_empty());
    let answer = hurray(arguments!["explain", "layout.buffer"]).code(2);
    assert!(answer.errors.contains("layout.buffer-too-small"), "{}", answer.errors);
    let answer = hurray(arguments!["explain", "\u{1b}[31m"]).code(2);
    assert!(answer.errors.contains("hurray explain lists all"), "{}", answer.errors);
    assert!(!answer.errors.contains('\u{1b}'), "{}", answer.errors);
}
