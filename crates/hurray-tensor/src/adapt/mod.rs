//! Tensors as those of other crates, and the other way round: each behind a feature. What a
//! function's name does not call a copy is none.

#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "ndarray")]
mod ndarray;

use hurray_format::Layout;

/// The layout that has just these strides, under its plainest name.
fn layout_of(shape: &[u64], strides: &[i64]) -> Layout {
    // Of no elements the strides say nothing.
    if shape.contains(&0) { Layout::RowMajor } else { crate::dlpack::layout(shape, strides) }
}
