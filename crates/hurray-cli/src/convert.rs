//! `hurray convert`: a tensor file into one of another kind.

use crate::console::Console;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, _: &mut Console<'_>) -> Result<(), Failure> {
    Err(Failure::new("not yet"))
}
