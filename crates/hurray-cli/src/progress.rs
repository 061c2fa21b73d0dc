//! Progress on long work: drawn on a terminal, and nothing anywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of bytes. Dropping it clears it.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn drawn(what: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = "{msg} [{bar:32}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        // Short work shows nothing: the first tick is drawn after a moment.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    /// That many bytes of the work are done, from its start.
    pub(crate) fn at(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// The same, where the whole of it is learned on the way.
    pub(crate) fn at_of(&self, bytes: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
