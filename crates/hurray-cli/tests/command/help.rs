use std::ffi::OsString;

use crate::support::*;

#[test]
fn help_tells_the_exit_codes_and_the_promise_of_mapping() {
    let answer = hurray(arguments!["--help"]).code(0);
    for told in ["Exit codes: 0", "mapped into memory", "--no-map", "NO_COLOR", "--spool-limit"] {
        assert!(answer.text().contains(told), "{told}: {}", answer.text());
    }
    for name in ["convert", "inspect", "verify", "ls", "cat", "explain", "demo"] {
        assert!(answer.text().contains(name), "{name}");
        hurray(arguments![name, "--help"]).code(0);
    }
    assert!(hurray(arguments!["--version"]).code(0).text().starts_with("hurray 0."));
}

#[test]
fn a_command_line_without_sense_is_2() {
    for wrong in [
        arguments![],
        arguments!["enlarge"],
        arguments!["verify"],
        arguments!["verify", "--as", "picture", "x"],
        arguments!["verify", "-", "-"],
        arguments!["inspect", "--spool-limit", "many", "x"],
        arguments!["inspect", "--color", "blue", "x"],
        arguments!["cat", "x"],
        arguments!["cat", "x", "w", "--buffer", "-1"],
        arguments!["convert", "x.hrry"],
        arguments!["convert", "x.hrry", "y"],
        arguments!["convert", "--alignment", "100", "x.hrry", "y.hrry"],
        arguments!["convert", "--sorted", "x.hrry", "y.safetensors"],
    ] {
        let answer = hurray(&wrong).code(2);
        assert!(answer.bytes.is_empty(), "{wrong:?}");
        assert!(!answer.errors.is_empty(), "{wrong:?}");
    }
}

#[test]
fn colors_are_for_terminals_or_by_request() {
    let folder = folder();
    let path = small_file(&folder);
    let has_colors = |arguments: Vec<OsString>| hurray(arguments).code(0).text().contains('\u{1b}');
    assert!(!has_colors(arguments!["inspect", path]));
    assert!(has_colors(arguments!["inspect", "--color", "always", path]));
    assert!(!has_colors(arguments!["inspect", "--color", "never", path]));
}

#[test]
fn no_color_is_honoured_on_a_terminal() {
    let folder = folder();
    let path = small_file(&folder);
    // Whether a terminal is there is said to the library; the variable is the process's.
    let run = || {
        let mut output = Vec::new();
        let streams = hurray_cli::Streams {
            input: &mut std::io::empty(),
            output: &mut output,
            errors: &mut std::io::sink(),
            output_is_terminal: true,
            errors_are_terminal: false,
        };
        let code =
            hurray_cli::run(["hurray".as_ref(), "inspect".as_ref(), path.as_os_str()], streams);
        assert_eq!(code, 0);
        output.contains(&0x1b)
    };
    let is_set = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    assert_eq!(run(), !is_set);
}
