//! Other tensor file formats in and out of Hurray.
