//! Tensors as those of other crates, and the other way round: each behind a feature. What a
//! function's name does not call a copy is none.

#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "ndarray")]
mod ndarray;

use hurray_format::{Descriptor, Dtype, Layout, List};

use crate::error::Result;

/// The layout that has just these strides, under its plainest name.
fn layout_of(dtype: Dtype, shape: &[u64], strides: &[i64]) -> Result<Layout> {
    if shape.contains(&0) {
        return Ok(Layout::RowMajor);
    }
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        let is_scalar = shape.is_empty() && layout == Layout::ColumnMajor;
        let plain = Descriptor::builder(dtype, shape).layout(layout.clone()).build();
        if !is_scalar && plain?.strides().is_some_and(|plain| plain[..] == *strides) {
            return Ok(layout);
        }
    }
    Ok(Layout::strided(List::new(strides)))
}
