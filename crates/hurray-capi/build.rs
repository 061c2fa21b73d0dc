//! Gives the shared library the name that programs look for when they start: it changes only
//! where `HURRAY_C_ABI_VERSION` does.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libhurray.1.dylib");
        }
        Ok("windows") => {}
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhurray.so.1"),
    }
}
