//! What decides how a struct is made: numbers that are the same in every run, or a fuzzer's.

#![allow(dead_code, reason = "each test, and each fuzz target, has one of them")]

pub(crate) trait Choice {
    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize;

    /// Any number.
    fn any(&mut self) -> u64;

    fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }
}

/// The same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }
}

impl Choice for Random {
    fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }

    fn any(&mut self) -> u64 {
        self.next() << 33 | self.next()
    }
}

/// The bytes of a fuzzer; zeros once they are used up.
pub(crate) struct Given<'b>(pub(crate) &'b [u8]);

impl Given<'_> {
    fn number(&mut self, bytes: usize) -> u64 {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl Choice for Given<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.number(if limit > 256 { 2 } else { 1 }) as usize % limit
    }

    fn any(&mut self) -> u64 {
        self.number(8)
    }
}

/// Every input that is kept for a fuzz target.
pub(crate) fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut inputs: Vec<_> =
        entries.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no inputs for {target}");
    inputs
}
