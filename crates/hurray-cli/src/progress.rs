//! Progress on long work: drawn on a terminal, and nothing anywhere else.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of bytes. Dropping it clears it.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Since when the work goes on, while nothing is drawn yet.
    waiting: Cell<Option<Instant>>,
}

/// Work that is shorter than this draws nothing.
const PATIENCE: Duration = Duration::from_millis(300);

impl Progress {
    pub(crate) fn drawn(what: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = "{msg} [{bar:32}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        Self { bar, waiting: Cell::new(Some(Instant::now())) }
    }

    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), waiting: Cell::new(None) }
    }

    /// That many bytes of the work are done, from its start.
    pub(crate) fn at(&self, bytes: u64) {
        if self.waiting.get().is_some_and(|start| start.elapsed() > PATIENCE) {
            self.waiting.set(None);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(bytes);
    }

    /// The same, where the whole of it is learned on the way.
    pub(crate) fn at_of(&self, bytes: u64, total: u64) {
        self.bar.set_length(total);
        self.at(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
