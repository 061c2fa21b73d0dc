//! The Hurray tensor format: descriptors, layouts, quantization and files as checked values over bytes.
