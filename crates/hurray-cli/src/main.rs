//! The `hurray` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    hurray_cli::main()
}
