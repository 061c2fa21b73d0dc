//! Hurray tensors in life: files opened, mapped, streamed and saved.
