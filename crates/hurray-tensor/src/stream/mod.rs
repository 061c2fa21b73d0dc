//! Plain streams: one tensor after the other over a pipe, a socket, a file.

mod reader;
mod verify;
mod writer;

pub use reader::{StreamReader, StreamTensor};
pub use writer::StreamWriter;
