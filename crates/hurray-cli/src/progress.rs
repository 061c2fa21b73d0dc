//! Progress on long work: drawn on a terminal, and nothing anywhere else.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of bytes. Dropping it clears it.
pub(crate) struct Progress {
    bar: ProgressBar,
    what: String,
    /// Since when the work goes on, while nothing is drawn yet.
    waiting: Cell<Option<Instant>>,
}

/// Work that is shorter than this draws nothing.
const PATIENCE: Duration = Duration::from_millis(300);

/// What cannot shrink takes half of a narrow terminal; the words at the end are cut to what
/// is left.
const TEMPLATE: &str = "{percent:>3}% [{bar:16}] {eta:>4} left  {wide_msg}";

impl Progress {
    pub(crate) fn drawn(what: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, what: what.to_owned(), waiting: Cell::new(Some(Instant::now())) }
    }

    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), what: String::new(), waiting: Cell::new(None) }
    }

    /// That many bytes of the work are done, from its start.
    pub(crate) fn at(&self, bytes: u64) {
        if self.waiting.get().is_some_and(|start| start.elapsed() > PATIENCE) {
            self.draw_to(ProgressDrawTarget::stderr());
        }
        if self.waiting.get().is_none() && !self.bar.is_hidden() {
            let total = HumanBytes(self.bar.length().unwrap_or_default());
            self.bar.set_message(format!("{} ({} of {total})", self.what, HumanBytes(bytes)));
        }
        self.bar.set_position(bytes);
    }

    fn draw_to(&self, target: ProgressDrawTarget) {
        self.waiting.set(None);
        self.bar.set_draw_target(target);
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal of so many columns, and what was written to it.
    #[derive(Clone, Debug)]
    struct Terminal(u16, Arc<Mutex<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            self.0
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.1.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("\n")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_fits_its_terminal() {
        for width in [40, 60, 80, 200] {
            let seen = Arc::default();
            let terminal = Terminal(width, Arc::clone(&seen));
            let progress = Progress::drawn(&format!("converting {}", "n".repeat(60)), 5_000_000);
            progress.draw_to(ProgressDrawTarget::term_like(Box::new(terminal)));
            progress.at(1_234_567);
            progress.bar.force_draw();
            let seen = seen.lock().unwrap();
            assert!(seen.contains("% [===>"), "{seen}");
            for line in seen.split(['\n', '\r']) {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line:?}");
            }
        }
    }
}
