//! How many hold one memory: the only place where threads meet over it.
//!
//! Everything that is to be proved about releasing memory is in the orderings of this file.
//! `tests/loom.rs` tries every way in which threads can meet here, and shows that it notices
//! when one of them is weaker.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(loom)]
use super::model::{Turns, ordered};

/// A count of holders, one at first.
pub(crate) struct Count {
    holders: AtomicUsize,
    #[cfg(loom)]
    turns: Turns,
}

/// A count beyond this is not believed any more: see [`Count::pin`].
const MOST: usize = usize::MAX >> 1;

impl Count {
    pub(crate) fn one() -> Self {
        Self {
            holders: AtomicUsize::new(1),
            #[cfg(loom)]
            turns: Turns::default(),
        }
    }

    /// One holder more, whom a holder lets in, and who learns from that one what there is.
    #[inline]
    pub(crate) fn join(&self) {
        self.turn();
        if self.holders.fetch_add(1, ordered(Ordering::Relaxed)) >= MOST {
            self.pin();
        }
    }

    /// One holder less. Whether it was the last, who comes after all that the others did.
    #[inline]
    #[must_use]
    pub(crate) fn leave(&self) -> bool {
        // Nobody can join while the only holder is leaving, so looking is enough.
        if self.is_one() {
            return true;
        }
        self.turn();
        let before = self.holders.fetch_sub(1, ordered(Ordering::AcqRel));
        if before > MOST {
            self.pin();
        }
        before == 1
    }

    /// Whether there is one holder, the caller, who then comes after all that the others did.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        self.turn();
        self.holders.load(ordered(Ordering::Acquire)) == 1
    }

    /// More holders than can be counted, so that some were forgotten and not dropped: from here
    /// on the memory is kept for ever, rather than released too early.
    #[cold]
    fn pin(&self) {
        self.holders.store(MOST.saturating_add(MOST >> 1), Ordering::Relaxed);
    }
}

/// The ordering as it is written.
#[cfg(not(loom))]
#[inline(always)]
const fn ordered(ordering: Ordering) -> Ordering {
    ordering
}

impl Count {
    /// Where a model tries which thread comes next.
    #[inline(always)]
    fn turn(&self) {
        #[cfg(loom)]
        self.turns.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_many_is_told() {
        let count = Count::one();
        (0..3).for_each(|_| count.join());
        assert!(!count.is_one());
        assert_eq!([(); 4].map(|()| count.leave()), [false, false, false, true]);
    }

    #[test]
    fn a_count_that_ran_over_is_never_the_last() {
        let count = Count::one();
        count.holders.store(MOST, Ordering::Relaxed);
        count.join();
        for _ in 0..10 {
            assert!(!count.leave());
            assert!(!count.is_one());
        }
    }
}
