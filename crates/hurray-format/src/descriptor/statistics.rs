//! The statistics section: 72 bytes of advice about the values, never relied on.

use crate::error::{Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Block, Borrowed, Owned, Reader, Silent, Storage, Trace, Writer};

/// Statistics as they were read. Fields that were not computed are kept as they stand
/// and not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics<S: Storage = Owned> {
    raw: S::Bytes,
}

/// What the section says. `None` was not computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatisticsValues {
    /// Elements that are not zero.
    pub nnz: Option<u64>,
    /// The share of zeros, 0 to 1.
    pub sparsity_ratio: Option<f64>,
    /// Least value, greatest value, greatest magnitude.
    pub range: Option<(f64, f64, f64)>,
    /// Mean and population standard deviation.
    pub moments: Option<(f64, f64)>,
    /// N:M sparsity, n at most m.
    pub nm: Option<(u8, u8)>,
    /// Whether some value is NaN, and whether some is infinite.
    pub nan_inf: Option<(bool, bool)>,
}

/// The fields as the wire has them.
#[derive(Clone, Copy, Debug)]
pub struct RawStatistics {
    /// Which fields were computed.
    pub computed_mask: u32,
    /// Mask bit 0.
    pub nnz: u64,
    /// Mask bit 1.
    pub sparsity_ratio: f64,
    /// Mask bit 2, with the next two.
    pub value_min: f64,
    /// Mask bit 2.
    pub value_max: f64,
    /// Mask bit 2.
    pub value_abs_max: f64,
    /// Mask bit 3, with the next.
    pub value_mean: f64,
    /// Mask bit 3.
    pub value_stddev: f64,
    /// Mask bit 4, with the next.
    pub nm_n: u8,
    /// Mask bit 4.
    pub nm_m: u8,
    /// Mask bit 5, with the next.
    pub has_nan: u8,
    /// Mask bit 5.
    pub has_inf: u8,
}

const SIZE: usize = 72;

impl Statistics {
    /// The section that says `values`. Whether they are in range is checked with the
    /// descriptor.
    pub fn new(values: &StatisticsValues) -> Self {
        let bit = |computed: bool, at: u32| u32::from(computed) << at;
        let (value_min, value_max, value_abs_max) = values.range.unwrap_or_default();
        let (value_mean, value_stddev) = values.moments.unwrap_or_default();
        let (nm_n, nm_m) = values.nm.unwrap_or_default();
        let (has_nan, has_inf) = values.nan_inf.unwrap_or_default();
        Self::from_raw(&RawStatistics {
            computed_mask: bit(values.nnz.is_some(), 0)
                | bit(values.sparsity_ratio.is_some(), 1)
                | bit(values.range.is_some(), 2)
                | bit(values.moments.is_some(), 3)
                | bit(values.nm.is_some(), 4)
                | bit(values.nan_inf.is_some(), 5),
            nnz: values.nnz.unwrap_or_default(),
            sparsity_ratio: values.sparsity_ratio.unwrap_or_default(),
            value_min,
            value_max,
            value_abs_max,
            value_mean,
            value_stddev,
            nm_n,
            nm_m,
            has_nan: u8::from(has_nan),
            has_inf: u8::from(has_inf),
        })
    }

    /// The section with these fields, as they stand. Whether they are in range is checked
    /// with the descriptor.
    pub fn from_raw(fields: &RawStatistics) -> Self {
        let mut raw = [0; SIZE];
        let mut w = Writer::new(&mut raw);
        w.u32(fields.computed_mask);
        w.u32(0);
        w.u64(fields.nnz);
        let spread = [fields.value_min, fields.value_max, fields.value_abs_max];
        let moments = [fields.value_mean, fields.value_stddev];
        for value in [fields.sparsity_ratio].into_iter().chain(spread).chain(moments) {
            w.u64(value.to_bits());
        }
        w.block(&[fields.nm_n, fields.nm_m, fields.has_nan, fields.has_inf, 0, 0, 0, 0]);
        Self { raw: raw.into() }
    }
}

impl<'a> Statistics<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<Self> {
        let block = r.block::<SIZE>("statistics")?;
        let raw = fields(r, &block);
        r.zeros::<SIZE, 4>(&block, 4, "reserved", Rule::StatsReserved)?;
        r.zeros::<SIZE, 4>(&block, 68, "reserved", Rule::StatsReserved2)?;

        let mask = raw.computed_mask;
        let refuse =
            |rule, at, name, found, expected| Err(block.refuse(rule, at, name, found, expected));
        if mask >= 1 << 6 {
            let found = Value::Tag(u64::from(mask));
            let rule = Rule::StatsReservedMask;
            return refuse(rule, 0, "computed_mask", found, Expected::AtMost(0x3F));
        }
        let computed = |bit: u32| mask & (1 << bit) != 0;
        if computed(1) && !(0.0..=1.0).contains(&raw.sparsity_ratio) {
            let found = Value::Float64(raw.sparsity_ratio.to_bits());
            let rule = Rule::StatsSparsityRange;
            return refuse(rule, 16, "sparsity_ratio", found, Expected::OneOf("0 to 1"));
        }
        if computed(3) && raw.value_stddev < 0.0 {
            let found = Value::Float64(raw.value_stddev.to_bits());
            let rule = Rule::StatsStddevNegative;
            return refuse(rule, 56, "value_stddev", found, Expected::AtLeast(0));
        }
        if computed(4) && raw.nm_n > raw.nm_m {
            let found = Value::Unsigned(u64::from(raw.nm_n));
            let expected = Expected::AtMost(u64::from(raw.nm_m));
            return refuse(Rule::StatsNmOrder, 64, "nm_n", found, expected);
        }
        for (at, name, flag) in [(66, "has_nan", raw.has_nan), (67, "has_inf", raw.has_inf)] {
            if computed(5) && flag > 1 {
                let found = Value::Unsigned(u64::from(flag));
                let expected = Expected::OneOf("0 or 1");
                return refuse(Rule::StatsNanInfFlag, at, name, found, expected);
            }
        }
        Ok(Self { raw: block.bytes() })
    }
}

fn fields<'a, T: Trace>(r: &mut Reader<'a, '_, T>, block: &Block<'a, SIZE>) -> RawStatistics {
    RawStatistics {
        computed_mask: r.flags32(block, 0, "computed_mask"),
        nnz: r.u64(block, 8, "nnz"),
        sparsity_ratio: r.f64(block, 16, "sparsity_ratio"),
        value_min: r.f64(block, 24, "value_min"),
        value_max: r.f64(block, 32, "value_max"),
        value_abs_max: r.f64(block, 40, "value_abs_max"),
        value_mean: r.f64(block, 48, "value_mean"),
        value_stddev: r.f64(block, 56, "value_stddev"),
        nm_n: r.u8(block, 64, "nm_n"),
        nm_m: r.u8(block, 65, "nm_m"),
        has_nan: r.u8(block, 66, "has_nan"),
        has_inf: r.u8(block, 67, "has_inf"),
    }
}

impl<S: Storage> Statistics<S> {
    /// The fields as the wire has them, computed or not.
    pub fn raw(&self) -> RawStatistics {
        let mut silent = Silent;
        let mut r = Reader::new(self.raw.as_ref(), Rule::DescriptorOverrun, &mut silent);
        match r.block::<SIZE>("statistics") {
            Ok(block) => fields(&mut r, &block),
            // The section is 72 bytes wherever one is made.
            Err(_) => fields(&mut r, &Block::zeros()),
        }
    }

    /// What was computed.
    pub fn values(&self) -> StatisticsValues {
        let raw = self.raw();
        let computed = |bit: u32| raw.computed_mask & (1 << bit) != 0;
        StatisticsValues {
            nnz: computed(0).then_some(raw.nnz),
            sparsity_ratio: computed(1).then_some(raw.sparsity_ratio),
            range: computed(2).then_some((raw.value_min, raw.value_max, raw.value_abs_max)),
            moments: computed(3).then_some((raw.value_mean, raw.value_stddev)),
            nm: computed(4).then_some((raw.nm_n, raw.nm_m)),
            nan_inf: computed(5).then_some((raw.has_nan == 1, raw.has_inf == 1)),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.raw.as_ref()
    }

    /// The same section, keeping its own bytes.
    pub fn to_owned(&self) -> Statistics {
        Statistics { raw: self.raw.as_ref().into() }
    }
}
