//! How many hold one memory, or one exported tensor: the only place where threads meet over it.
//!
//! Everything that is to be proved about releasing memory is in the orderings of this file.
//! `tests/loom.rs` tries every way in which threads can meet here, and shows that it notices
//! when one of them is weaker.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(loom)]
use super::model::{Held, Turns, ordered};

/// A count of holders.
pub(crate) struct Count {
    holders: AtomicUsize,
    #[cfg(loom)]
    turns: Turns,
    #[cfg(loom)]
    held: Held,
}

/// A count beyond this is not believed any more: see [`Count::pin`].
const MOST: usize = usize::MAX >> 1;

impl Count {
    #[inline]
    pub(crate) fn one() -> Self {
        Self::of(1)
    }

    /// So many holders at first.
    #[inline]
    pub(crate) fn of(holders: usize) -> Self {
        Self {
            holders: AtomicUsize::new(holders),
            #[cfg(loom)]
            turns: Turns::default(),
            #[cfg(loom)]
            held: Held::default(),
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
        self.leave_many(1)
    }

    /// So many holders less, one at least, who leave together. Whether they were the last.
    #[inline]
    #[must_use]
    pub(crate) fn leave_many(&self, leaving: usize) -> bool {
        self.used();
        // Nobody can join while all there are are leaving, so looking is enough.
        if self.are(leaving) {
            self.ended();
            return true;
        }
        self.turn();
        let before = self.holders.fetch_sub(leaving, ordered(Ordering::AcqRel));
        if before > MOST {
            self.pin();
        }
        let were_last = before == leaving;
        if were_last {
            self.ended();
        }
        were_last
    }

    /// Whether there is one holder, the caller, who then comes after all that the others did.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        self.are(1)
    }

    #[inline]
    fn are(&self, holders: usize) -> bool {
        self.turn();
        self.holders.load(ordered(Ordering::Acquire)) == holders
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

    /// Where a model takes note that a holder used what is counted.
    #[inline(always)]
    fn used(&self) {
        #[cfg(loom)]
        self.held.used();
    }

    /// Where a model sees to it that whoever was last comes after all of them.
    #[inline(always)]
    fn ended(&self) {
        #[cfg(loom)]
        self.held.ended();
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
    fn those_who_leave_together_are_told_together() {
        let count = Count::of(6);
        assert_eq!([2, 1, 3].map(|leaving| count.leave_many(leaving)), [false, false, true]);
        assert!(Count::of(4).leave_many(4));
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
