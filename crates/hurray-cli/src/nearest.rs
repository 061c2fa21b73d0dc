//! What somebody may have meant by a name that is not there.

/// So many are proposed.
const MOST: usize = 5;
/// So many names are looked at, and so many of them compared character by character: a file
/// of a stranger may have millions.
const LOOKED_AT: usize = 100_000;
const COMPARED: usize = 1_000;

/// The few `names` nearest to `wanted`: first those it is the start of, then those that have
/// it in them, then those that differ by a slip or two. Far ones are not among them.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let length = wanted.chars().take(LONGEST).count();
    let slips = (length / 4).clamp(1, 4);
    let mut compared = 0;
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names.take(LOOKED_AT) {
        let rank = if wanted.is_empty() {
            None
        } else if name.starts_with(wanted) {
            Some(0)
        } else if length > 2 && name.contains(wanted) {
            Some(1)
        } else if compared < COMPARED && name.len().abs_diff(wanted.len()) <= 4 * slips {
            compared += 1;
            let slipped = distance(wanted, name);
            (slipped <= slips).then_some(1 + slipped)
        } else {
            None
        };
        found.extend(rank.map(|rank| (rank, name)));
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Beyond the length of any id, and of most names, the first characters are enough.
const LONGEST: usize = 100;

/// How many characters to change, add or remove to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=one.len()).collect();
    for (number, wanted) in other.chars().take(LONGEST).enumerate() {
        let mut diagonal = number;
        let mut left = number + 1;
        for (found, above) in one.iter().zip(row.iter_mut().skip(1)) {
            let same = diagonal + usize::from(*found != wanted);
            diagonal = *above;
            left = same.min(left + 1).min(*above + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = number + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_their_slips() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
    }

    #[test]
    fn starts_come_first_and_what_is_far_does_not_come() {
        let names = ["xx.layer", "layer.1", "layer.0", "leyer", "something else"];
        let found = |wanted| nearest(wanted, names.iter().copied());
        assert_eq!(found("layer"), ["layer.1", "layer.0", "xx.layer", "leyer"]);
        assert_eq!(found("lyaer.0"), ["layer.0"; 0]);
        assert_eq!(found("layor.0"), ["layer.0"]);
        assert!(found("").is_empty());
        assert!(found(&"x".repeat(1_000_000)).is_empty());
    }
}
