//! Programs of C that hold a producer and a consumer, written in C, C++ and Rust: run here, and by
//! `cargo xtask test memcheck` once more under a checker of memory.

use std::path::Path;
use std::process::Command;

use crate::compile::{self, link};

/// A program's name, its sources, how they are compiled and linked, and the library besides.
type Program<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Option<&'a Path>);

#[test]
fn programs_of_c_produce_and_consume() {
    let copy = compile::copy("dev");
    let both_in_cpp = ["-DONLY_DENSE"];
    let asked_for_memory = ["-Wl,--wrap=_Znwm"];
    let programs: [Program<'_>; 6] = [
        ("alone-c", &["alone.c", "producer.c", "consumer.c"], &[], None),
        ("alone-cpp", &["alone.c", "both.cpp"], &both_in_cpp, None),
        ("alone-c-to-rust", &["alone.c", "producer.c"], &[], Some(&copy)),
        ("alone-rust-to-c", &["alone.c", "consumer.c"], &[], Some(&copy)),
        ("alone-owners", &["owners.cpp", "middle.cpp", "producer.c"], &asked_for_memory, None),
        ("alone-rust", &["alone.c"], &[], Some(&copy)),
    ];
    for (name, sources, options, library) in programs {
        let program = link(name, sources, options, library);
        assert_eq!(compile::run(&mut Command::new(program)), "0 failures\n", "{name}");
    }
}
