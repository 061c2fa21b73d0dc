//! What becomes of memory that is held when the process ends.

use std::sync::Mutex;

use hurray_tensor::{Buffer, Region};

/// Names what the test below does when it is run in a process of its own.
const CASE: &str = "HURRAY_EXIT_CASE";

/// Memory whose release is printed.
fn printed() -> Buffer {
    let mut memory = vec![0_u8; 64];
    let region = Region::host(memory.as_mut_ptr(), memory.len());
    let release = move || println!("released {} bytes", memory.len());
    // SAFETY: the memory is the closure's until it is called.
    unsafe { Buffer::adopt(region, release) }.unwrap()
}

/// Ends in one of the ways that the test after it looks at, where it is told to.
#[test]
#[allow(clippy::exit, reason = "one of the ways")]
fn child() {
    static HELD: Mutex<Option<Buffer>> = Mutex::new(None);
    thread_local! {
        static OWN: Mutex<Option<Buffer>> = const { Mutex::new(None) };
    }
    match std::env::var(CASE).as_deref() {
        Ok("thread") => OWN.with(|own| *own.lock().unwrap() = Some(printed())),
        Ok("static") => *HELD.lock().unwrap() = Some(printed()),
        Ok("exit") => {
            let _held = printed();
            std::process::exit(0);
        }
        _ => {}
    }
}

/// What belongs to a thread is released when the thread ends. What a static holds, or a frame
/// that `exit` leaves, is never dropped, as Rust has it: the system takes the memory back, and
/// nobody is called while the process is going down. None of them crashes.
#[test]
#[cfg(not(miri))]
fn the_end_of_a_process_releases_once_or_leaves_it_to_the_system() {
    use std::process::Command;

    for (case, releases) in [("thread", 1), ("static", 0), ("exit", 0)] {
        let program = std::env::current_exe().unwrap();
        let child = ["exit::child", "--exact", "--nocapture"];
        let output = Command::new(program).args(child).env(CASE, case).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{case}: {text}");
        assert_eq!(text.matches("released 64 bytes").count(), releases, "{case}: {text}");
    }
}
