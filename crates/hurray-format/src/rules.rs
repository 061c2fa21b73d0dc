//! The rule table: one entry for every "must" of the format.
//!
//! A rule has a stable dotted id, the page of the specification it comes from, the
//! fault it is, and a sentence for a person. The id is what a refusal names, here and
//! in every layer above; ids are never renamed or reused.

use core::fmt;

/// Whose fault a refusal is; decides what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// These bytes break a rule of the format.
    Corrupt,
    /// Legal, but not understood here, or by agreement only.
    Unsupported,
    /// Legal and understood, but over a limit this reader set.
    Refused,
    /// The other side of an exchange broke its rules.
    Peer,
    /// The operating system or a driver said no.
    System,
    /// A mistake of the calling program.
    Misuse,
}

impl Fault {
    /// The word used in messages and JSON: `corrupt`, `unsupported`, `refused`, `peer`,
    /// `system`, `misuse`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Peer => "peer",
            Self::System => "system",
            Self::Misuse => "misuse",
        }
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal, $page:literal, $fault:ident, $meaning:literal;)*) => {
        /// One rule of the format.
        #[allow(rustdoc::broken_intra_doc_links, reason = "`shape[axis]` is no link")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!("`", $id, "`: ", $meaning, ".")] $name,)*
        }

        struct Row {
            id: &'static str,
            page: &'static str,
            fault: Fault,
            meaning: &'static str,
        }

        impl Rule {
            /// Every rule, grouped by page.
            pub const ALL: &'static [Rule] = &[$(Rule::$name,)*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        id: $id,
                        page: $page,
                        fault: Fault::$fault,
                        meaning: $meaning,
                    },)*
                }
            }
        }
    };
}

rules! {
    // The descriptor as a whole
    DescriptorBufferCountZero = "descriptor.buffer-count-zero", "02", Corrupt, "no buffers and not a composite head";
    DescriptorByteOffsetBeyondBuffer = "descriptor.byte-offset-beyond-buffer", "02", Corrupt, "byte_offset above buffer 0 size";
    DescriptorLengthBelowHeader = "descriptor.length-below-header", "02", Corrupt, "descriptor_length below 20";
    DescriptorMagic = "descriptor.magic", "02", Corrupt, "magic is not HRRY";
    DescriptorOverrun = "descriptor.overrun", "02", Corrupt, "a field runs past descriptor_length";
    DescriptorRankTooLarge = "descriptor.rank-too-large", "02", Corrupt, "rank above 64";
    DescriptorReservedFlag = "descriptor.reserved-flag", "02", Corrupt, "flag bit 5-31 set";
    DescriptorScalarLayout = "descriptor.scalar-layout", "02", Corrupt, "rank 0 with a layout other than row-major";
    DescriptorTrailingBytes = "descriptor.trailing-bytes", "02", Corrupt, "1.0 descriptor longer than its fields";
    DescriptorTruncated = "descriptor.truncated", "02", Corrupt, "fewer input bytes than descriptor_length";
    DescriptorVersionMajor = "descriptor.version-major", "02", Unsupported, "major version above 1";
    DescriptorVersionMajorZero = "descriptor.version-major-zero", "02", Corrupt, "major version 0";
    DescriptorLengthAboveLimit = "descriptor.length-above-limit", "02", Refused, "descriptor_length above the reader's limit";
    DescriptorUnresolved = "descriptor.unresolved", "02", Misuse, "the call needs a shape without dynamic dimensions";
    DescriptorExtraBytes = "descriptor.extra-bytes", "02", Corrupt, "bytes after the descriptor";
    DescriptorDynamicCount = "descriptor.dynamic-count", "02", Misuse, "not one size for each dynamic dimension";
    DescriptorOutputTooSmall = "descriptor.output-too-small", "02", Misuse, "the output cannot hold the encoded bytes";
    DescriptorDimensions = "descriptor.dimensions", "02", Misuse, "a part has not one number for each dimension";
    DescriptorPartsAmbiguous = "descriptor.parts-ambiguous", "02", Misuse, "a part carries a tag or number that means another part";
    DescriptorBufferCountAboveTable = "descriptor.buffer-count-above-table", "02", Misuse, "more buffers than the table can count";
    // Buffer handles
    BufferAlignmentNotPowerOfTwo = "buffer.alignment-not-power-of-two", "01", Corrupt, "alignment is 0 or not a power of two";
    BufferAlignmentTooSmall = "buffer.alignment-too-small", "01", Corrupt, "non-empty buffer aligned below 64";
    BufferCpuSync = "buffer.cpu-sync", "01", Corrupt, "CPU buffer not producer-synced";
    BufferDeviceClassPair = "buffer.device-class-pair", "01", Corrupt, "class not allowed for that device";
    BufferDeviceInvalid = "buffer.device-invalid", "01", Corrupt, "device tag 0xFF";
    BufferDeviceReserved = "buffer.device-reserved", "01", Corrupt, "device tag 0x09-0xEF";
    BufferLength = "buffer.length", "01", Corrupt, "handle is not 16 bytes";
    BufferMemoryClassInvalid = "buffer.memory-class-invalid", "01", Corrupt, "memory class 0xFF";
    BufferMemoryClassReserved = "buffer.memory-class-reserved", "01", Corrupt, "memory class 0x04-0xEF";
    BufferMixedDevice = "buffer.mixed-device", "01", Corrupt, "buffers on different devices";
    BufferMixedMemoryClass = "buffer.mixed-memory-class", "01", Corrupt, "buffers of different memory classes";
    BufferReservedByte = "buffer.reserved-byte", "01", Corrupt, "handle byte 15 not zero";
    BufferSyncInvalid = "buffer.sync-invalid", "01", Corrupt, "sync mode 0xFF";
    BufferSyncReserved = "buffer.sync-reserved", "01", Corrupt, "sync mode 0x03-0xFE";
    BufferDevicePrivate = "buffer.device-private", "01", Unsupported, "private device tag that was not agreed";
    // Element types
    TypeInvalidTag = "type.invalid-tag", "03", Corrupt, "type tag 0x00 or 0xFF";
    TypeReservedTag = "type.reserved-tag", "03", Corrupt, "type tag 0x47 or 0x80-0xEF";
    TypeUnknownTag = "type.unknown-tag", "03", Unsupported, "unassigned tag in 0x01-0x7F";
    TypePrivateTag = "type.private-tag", "03", Unsupported, "private element type that was not agreed";
    // The extension type section
    ExtTypeBitWidthZero = "ext-type.bit-width-zero", "02", Corrupt, "bit_width is 0";
    ExtTypeFlagMissing = "ext-type.flag-missing", "02", Corrupt, "private type without its record";
    ExtTypeFlagUnexpected = "ext-type.flag-unexpected", "02", Corrupt, "record on a built-in type";
    ExtTypeFloatIsSigned = "ext-type.float-is-signed", "02", Corrupt, "float with is_signed";
    ExtTypeIntegerExponentBias = "ext-type.integer-exponent-bias", "02", Corrupt, "integer with exponent_bias";
    ExtTypeIntegerExponentBits = "ext-type.integer-exponent-bits", "02", Corrupt, "integer with exponent_bits";
    ExtTypeIntegerMantissaBits = "ext-type.integer-mantissa-bits", "02", Corrupt, "integer with mantissa_bits";
    ExtTypeIntegerNanInf = "ext-type.integer-nan-inf", "02", Corrupt, "integer with has_nan or has_inf";
    ExtTypeIntegerSignBits = "ext-type.integer-sign-bits", "02", Corrupt, "integer with sign_bits";
    ExtTypeIsFloat = "ext-type.is-float", "02", Corrupt, "is_float above 1";
    ExtTypeIsSigned = "ext-type.is-signed", "02", Corrupt, "is_signed above 1";
    ExtTypeNanInfFlag = "ext-type.nan-inf-flag", "02", Corrupt, "has_nan or has_inf above 1";
    ExtTypePackingFactor = "ext-type.packing-factor", "02", Corrupt, "packing_factor does not fit bit_width";
    ExtTypeReserved = "ext-type.reserved", "02", Corrupt, "bytes 10-11 not zero";
    ExtTypeReserved2 = "ext-type.reserved2", "02", Corrupt, "bytes 18-19 not zero";
    ExtTypeSignBits = "ext-type.sign-bits", "02", Corrupt, "float with sign_bits above 1";
    ExtTypeSubByteWidth = "ext-type.sub-byte-width", "02", Corrupt, "bit_width 3, 5, 6 or 7";
    ExtTypeWidthNotWholeBytes = "ext-type.width-not-whole-bytes", "02", Corrupt, "bit_width above 8, not a multiple of 8";
    // Layouts
    LayoutBlockPagedBufferCount = "layout.block-paged.buffer-count", "04", Corrupt, "wrong buffer count, not quantized";
    LayoutBlockPagedBufferTooSmall = "layout.block-paged.buffer-too-small", "04", Corrupt, "a layout buffer is below its minimum";
    LayoutBlockPagedByteOffset = "layout.block-paged.byte-offset", "04", Corrupt, "byte_offset not 0";
    LayoutBlockPagedIndexType = "layout.block-paged.index-type", "04", Corrupt, "index type above 1";
    LayoutBlockPagedIndexWidth = "layout.block-paged.index-width", "04", Corrupt, "uint32 table with more than 0xFFFFFFFF pages";
    LayoutBlockPagedKvRole = "layout.block-paged.kv-role", "04", Corrupt, "kv_role above 2";
    LayoutBlockPagedPageSize = "layout.block-paged.page-size", "04", Corrupt, "page_size is 0";
    LayoutBlockPagedPagedAxis = "layout.block-paged.paged-axis", "04", Corrupt, "paged_axis is not 0";
    LayoutBlockPagedRank = "layout.block-paged.rank", "04", Corrupt, "rank is not 3";
    LayoutBlockPagedReserved = "layout.block-paged.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutBlockPagedShard = "layout.block-paged.shard", "04", Corrupt, "block-paged with a shard section";
    LayoutBufferTooSmall = "layout.buffer-too-small", "04", Corrupt, "dense data buffer below the layout's minimum";
    LayoutCompositeBufferCount = "layout.composite.buffer-count", "04", Corrupt, "head owns buffers";
    LayoutCompositeByteOffset = "layout.composite.byte-offset", "04", Corrupt, "head byte_offset not 0";
    LayoutCompositeCombineOp = "layout.composite.combine-op", "04", Corrupt, "overlay op not 1 or 2";
    LayoutCompositeCombineOpNotZero = "layout.composite.combine-op-not-zero", "04", Corrupt, "partition or group with an op";
    LayoutCompositeMemberFlag = "layout.composite.member-flag", "04", Corrupt, "head carries a member section";
    LayoutCompositeOpen = "layout.composite.open", "04", Corrupt, "member_count 0xFFFFFFFF";
    LayoutCompositeOverlayEmpty = "layout.composite.overlay-empty", "04", Corrupt, "overlay with no members";
    LayoutCompositeQuantized = "layout.composite.quantized", "04", Corrupt, "head is quantized";
    LayoutCompositeReserved = "layout.composite.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutCompositeRuleInvalid = "layout.composite.rule-invalid", "04", Corrupt, "rule 0xFF";
    LayoutCompositeRuleReserved = "layout.composite.rule-reserved", "04", Corrupt, "rule 0x00, 0x04-0xEF";
    LayoutCooBufferCount = "layout.coo.buffer-count", "04", Corrupt, "wrong buffer count, not quantized";
    LayoutCooBufferTooSmall = "layout.coo.buffer-too-small", "04", Corrupt, "a layout buffer is below its minimum";
    LayoutCooByteOffset = "layout.coo.byte-offset", "04", Corrupt, "byte_offset not 0";
    LayoutCooIsSorted = "layout.coo.is-sorted", "04", Corrupt, "is_sorted above 1";
    LayoutCooReserved = "layout.coo.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutCscBufferCount = "layout.csc.buffer-count", "04", Corrupt, "wrong buffer count, not quantized";
    LayoutCscBufferTooSmall = "layout.csc.buffer-too-small", "04", Corrupt, "a layout buffer is below its minimum";
    LayoutCscByteOffset = "layout.csc.byte-offset", "04", Corrupt, "byte_offset not 0";
    LayoutCscRank = "layout.csc.rank", "04", Corrupt, "rank is not 2";
    LayoutCscReserved = "layout.csc.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutCsfBufferCount = "layout.csf.buffer-count", "04", Corrupt, "wrong buffer count, not quantized";
    LayoutCsfBufferTooSmall = "layout.csf.buffer-too-small", "04", Corrupt, "a layout buffer is below its minimum";
    LayoutCsfByteOffset = "layout.csf.byte-offset", "04", Corrupt, "byte_offset not 0";
    LayoutCsfModeOrder = "layout.csf.mode-order", "04", Corrupt, "mode_order is not a permutation";
    LayoutCsfRank = "layout.csf.rank", "04", Corrupt, "rank below 3";
    LayoutCsfReserved = "layout.csf.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutCsfShard = "layout.csf.shard", "04", Corrupt, "CSF with a shard section";
    LayoutCsrBufferCount = "layout.csr.buffer-count", "04", Corrupt, "wrong buffer count, not quantized";
    LayoutCsrBufferTooSmall = "layout.csr.buffer-too-small", "04", Corrupt, "a layout buffer is below its minimum";
    LayoutCsrByteOffset = "layout.csr.byte-offset", "04", Corrupt, "byte_offset not 0";
    LayoutCsrRank = "layout.csr.rank", "04", Corrupt, "rank is not 2";
    LayoutCsrReserved = "layout.csr.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutDenseBufferCount = "layout.dense.buffer-count", "04", Corrupt, "dense, not quantized, and not one buffer";
    LayoutElementBeforeBuffer = "layout.element-before-buffer", "04", Corrupt, "a negative stride leaves the buffer";
    LayoutHilbertOrderZero = "layout.hilbert.order-zero", "04", Corrupt, "hilbert_order is 0";
    LayoutHilbertRankMismatch = "layout.hilbert.rank-mismatch", "04", Corrupt, "hilbert_rank is not rank";
    LayoutHilbertRankTooSmall = "layout.hilbert.rank-too-small", "04", Corrupt, "hilbert_rank below 2";
    LayoutHilbertShape = "layout.hilbert.shape", "04", Corrupt, "a dimension is not 2^order";
    LayoutInvalidTag = "layout.invalid-tag", "04", Corrupt, "layout tag 0x00 or 0xFF";
    LayoutMortonBitsZero = "layout.morton.bits-zero", "04", Corrupt, "a morton_bits value is 0";
    LayoutMortonDimensionTooLarge = "layout.morton.dimension-too-large", "04", Corrupt, "dimension above 2^bits";
    LayoutReservedTag = "layout.reserved-tag", "04", Corrupt, "layout tag 0x80-0xEF";
    LayoutTiledInnerLayout = "layout.tiled.inner-layout", "04", Corrupt, "inner layout not 1-4";
    LayoutTiledOuterLayout = "layout.tiled.outer-layout", "04", Corrupt, "outer layout not 1-3";
    LayoutTiledRecursionDepth = "layout.tiled.recursion-depth", "04", Corrupt, "more than 8 tile levels";
    LayoutTiledReserved = "layout.tiled.reserved", "04", Corrupt, "reserved bytes not zero";
    LayoutTiledTileShapeZero = "layout.tiled.tile-shape-zero", "04", Corrupt, "a tile size is 0";
    LayoutUnknownTag = "layout.unknown-tag", "04", Unsupported, "unassigned tag in 0x01-0x7F";
    LayoutPrivateTag = "layout.private-tag", "04", Unsupported, "private layout that was not agreed";
    LayoutCompositeRulePrivate = "layout.composite.rule-private", "04", Unsupported, "private composition rule that was not agreed";
    LayoutMortonBitsTotal = "layout.morton.bits-total", "04", Corrupt, "morton_bits add up to more than 63";
    LayoutHilbertBitsTotal = "layout.hilbert.bits-total", "04", Corrupt, "rank times order above 63";
    LayoutTiledNestedNotDividing = "layout.tiled.nested-not-dividing", "04", Corrupt, "a nested tile does not divide its parent tile";
    LayoutTiledInnerStrides = "layout.tiled.inner-strides", "04", Corrupt, "strides inside a tile are no dense permutation";
    // Quantization
    QuantBlockPagedBlockSize = "quant.block-paged.block-size", "05", Corrupt, "block_size is not page_size";
    QuantBlockPagedPerBlockAxis = "quant.block-paged.per-block-axis", "05", Corrupt, "per-block axis not 0";
    QuantBlockPagedPerChannelAxis = "quant.block-paged.per-channel-axis", "05", Corrupt, "per-channel on axis 0";
    QuantBufferCount = "quant.buffer-count", "05", Corrupt, "buffers are not layout count plus parameter buffers";
    QuantIndexIsLayoutBuffer = "quant.index-is-layout-buffer", "05", Corrupt, "parameter index names an index buffer";
    QuantInvalidScheme = "quant.invalid-scheme", "05", Corrupt, "scheme 0x00 or 0xFF";
    QuantLengthTooShort = "quant.length-too-short", "05", Corrupt, "quantization_length below the scheme's size";
    QuantMxfpAxis = "quant.mxfp.axis", "05", Corrupt, "axis not below rank";
    QuantMxfpAxisNotMultiple = "quant.mxfp.axis-not-multiple", "05", Corrupt, "shape[axis] is not a positive multiple of block_size";
    QuantMxfpBlockSizeNotPowerOfTwo = "quant.mxfp.block-size-not-power-of-two", "05", Corrupt, "block_size not a power of two";
    QuantMxfpBlockSizeTooLarge = "quant.mxfp.block-size-too-large", "05", Corrupt, "block_size above 2048";
    QuantMxfpBlockSizeTooSmall = "quant.mxfp.block-size-too-small", "05", Corrupt, "block_size below 16";
    QuantMxfpDynamicAxis = "quant.mxfp.dynamic-axis", "05", Corrupt, "shape[axis] is dynamic";
    QuantMxfpScaleIndexIsData = "quant.mxfp.scale-index-is-data", "05", Corrupt, "scale index names the data buffer";
    QuantMxfpScaleIndexRange = "quant.mxfp.scale-index-range", "05", Corrupt, "scale index out of table";
    QuantMxfpScaleSize = "quant.mxfp.scale-size", "05", Corrupt, "scale buffer size not exact";
    QuantMxfpStorageType = "quant.mxfp.storage-type", "05", Corrupt, "type not allowed for the scheme";
    QuantNf4Axis = "quant.nf4.axis", "05", Corrupt, "axis not below rank";
    QuantNf4BlockSizeExceedsAxis = "quant.nf4.block-size-exceeds-axis", "05", Corrupt, "block_size above a non-zero shape[axis]";
    QuantNf4BlockSizeNotPowerOfTwo = "quant.nf4.block-size-not-power-of-two", "05", Corrupt, "block_size not a power of two";
    QuantNf4BlockSizeTooSmall = "quant.nf4.block-size-too-small", "05", Corrupt, "block_size below 8";
    QuantNf4DynamicAxis = "quant.nf4.dynamic-axis", "05", Corrupt, "shape[axis] is dynamic";
    QuantNf4ScaleIndexIsData = "quant.nf4.scale-index-is-data", "05", Corrupt, "scale index names the data buffer";
    QuantNf4ScaleIndexRange = "quant.nf4.scale-index-range", "05", Corrupt, "scale index out of table";
    QuantNf4ScaleSize = "quant.nf4.scale-size", "05", Corrupt, "scale buffer size not exact";
    QuantNf4StorageType = "quant.nf4.storage-type", "05", Corrupt, "type not allowed for the scheme";
    QuantPerBlockAxis = "quant.per-block.axis", "05", Corrupt, "axis not below rank";
    QuantPerBlockBlockSizeExceedsAxis = "quant.per-block.block-size-exceeds-axis", "05", Corrupt, "block_size above a non-zero shape[axis]";
    QuantPerBlockBlockSizeNotPowerOfTwo = "quant.per-block.block-size-not-power-of-two", "05", Corrupt, "block_size not a power of two";
    QuantPerBlockBlockSizeTooSmall = "quant.per-block.block-size-too-small", "05", Corrupt, "block_size below 2";
    QuantPerBlockDynamicAxis = "quant.per-block.dynamic-axis", "05", Corrupt, "shape[axis] is dynamic";
    QuantPerBlockReserved = "quant.per-block.reserved", "05", Corrupt, "reserved bytes not zero";
    QuantPerBlockScaleIndexIsData = "quant.per-block.scale-index-is-data", "05", Corrupt, "scale index names the data buffer";
    QuantPerBlockScaleIndexRange = "quant.per-block.scale-index-range", "05", Corrupt, "scale index out of table";
    QuantPerBlockScaleSize = "quant.per-block.scale-size", "05", Corrupt, "scale buffer size not exact";
    QuantPerBlockScaleType = "quant.per-block.scale-type", "05", Corrupt, "scale type not allowed";
    QuantPerBlockSharedSize = "quant.per-block.shared-size", "05", Corrupt, "shared buffer is not scales plus zero points";
    QuantPerBlockStorageType = "quant.per-block.storage-type", "05", Corrupt, "type not allowed for the scheme";
    QuantPerBlockSymmetricIndex = "quant.per-block.symmetric-index", "05", Corrupt, "SYMMETRIC without index 0xFFFFFFFF";
    QuantPerBlockZeroPointIndexIsData = "quant.per-block.zero-point-index-is-data", "05", Corrupt, "zero-point index names the data buffer";
    QuantPerBlockZeroPointIndexRange = "quant.per-block.zero-point-index-range", "05", Corrupt, "zero-point index out of table";
    QuantPerBlockZeroPointSize = "quant.per-block.zero-point-size", "05", Corrupt, "zero-point buffer size not exact";
    QuantPerChannelAxis = "quant.per-channel.axis", "05", Corrupt, "axis not below rank";
    QuantPerChannelDynamicAxis = "quant.per-channel.dynamic-axis", "05", Corrupt, "shape[axis] is dynamic";
    QuantPerChannelReserved = "quant.per-channel.reserved", "05", Corrupt, "reserved bytes not zero";
    QuantPerChannelScaleIndexIsData = "quant.per-channel.scale-index-is-data", "05", Corrupt, "scale index names the data buffer";
    QuantPerChannelScaleIndexRange = "quant.per-channel.scale-index-range", "05", Corrupt, "scale index out of table";
    QuantPerChannelScaleSize = "quant.per-channel.scale-size", "05", Corrupt, "scale buffer size not exact";
    QuantPerChannelScaleType = "quant.per-channel.scale-type", "05", Corrupt, "scale type not allowed";
    QuantPerChannelSharedSize = "quant.per-channel.shared-size", "05", Corrupt, "shared buffer is not scales plus zero points";
    QuantPerChannelStorageType = "quant.per-channel.storage-type", "05", Corrupt, "type not allowed for the scheme";
    QuantPerChannelSymmetricIndex = "quant.per-channel.symmetric-index", "05", Corrupt, "SYMMETRIC without index 0xFFFFFFFF";
    QuantPerChannelZeroPointIndexIsData = "quant.per-channel.zero-point-index-is-data", "05", Corrupt, "zero-point index names the data buffer";
    QuantPerChannelZeroPointIndexRange = "quant.per-channel.zero-point-index-range", "05", Corrupt, "zero-point index out of table";
    QuantPerChannelZeroPointSize = "quant.per-channel.zero-point-size", "05", Corrupt, "zero-point buffer size not exact";
    QuantPerTensorReserved = "quant.per-tensor.reserved", "05", Corrupt, "reserved bytes not zero";
    QuantPerTensorScaleNotFinite = "quant.per-tensor.scale-not-finite", "05", Corrupt, "scale NaN or infinite";
    QuantPerTensorScaleZero = "quant.per-tensor.scale-zero", "05", Corrupt, "scale is +0 or -0";
    QuantPerTensorStorageType = "quant.per-tensor.storage-type", "05", Corrupt, "type not allowed for the scheme";
    QuantPerTensorZeroPointRange = "quant.per-tensor.zero-point-range", "05", Corrupt, "zero_point outside the storage type";
    QuantReservedFlag = "quant.reserved-flag", "05", Corrupt, "undefined scheme flag set";
    QuantReservedScheme = "quant.reserved-scheme", "05", Corrupt, "scheme 0x60-0xEF";
    QuantSchemeVersion = "quant.scheme-version", "05", Corrupt, "scheme_version is not 1";
    QuantUnknownScheme = "quant.unknown-scheme", "05", Unsupported, "unassigned scheme in 0x01-0x5F";
    QuantPrivateScheme = "quant.private-scheme", "05", Unsupported, "private quantization scheme that was not agreed";
    QuantBlockPagedScheme = "quant.block-paged.scheme", "05", Unsupported, "scheme is not defined for block-paged tensors";
    QuantPerChannelScaleValue = "quant.per-channel.scale-value", "05", Corrupt, "a scale is zero or not finite";
    QuantPerChannelZeroPointValue = "quant.per-channel.zero-point-value", "05", Corrupt, "a zero point outside the storage type";
    QuantPerBlockScaleValue = "quant.per-block.scale-value", "05", Corrupt, "a scale is zero or not finite";
    QuantNf4ScaleValue = "quant.nf4.scale-value", "05", Corrupt, "an absmax scale is negative or not finite";
    QuantMxfpScaleNan = "quant.mxfp.scale-nan", "05", Corrupt, "an e8m0 scale is 0xFF";
    QuantMxfpScaleCodeZero = "quant.mxfp.scale-code-zero", "05", Corrupt, "an e8m0 scale is 0x00, which is not to be written";
    // The shard section
    ShardDynamicDimension = "shard.dynamic-dimension", "02", Corrupt, "shard with a dynamic dimension";
    ShardOutOfBounds = "shard.out-of-bounds", "02", Corrupt, "offset plus shape above parent_shape";
    // The statistics section
    StatsNanInfFlag = "stats.nan-inf-flag", "02", Corrupt, "valid has_nan or has_inf above 1";
    StatsNmOrder = "stats.nm-order", "02", Corrupt, "valid nm_n above nm_m";
    StatsNnzMismatch = "stats.nnz-mismatch", "02", Corrupt, "valid nnz differs from the sparse nnz";
    StatsReserved = "stats.reserved", "02", Corrupt, "bytes 4-7 not zero";
    StatsReservedMask = "stats.reserved-mask", "02", Corrupt, "computed_mask bit 6-31 set";
    StatsReserved2 = "stats.reserved2", "02", Corrupt, "bytes 68-71 not zero";
    StatsSparsityRange = "stats.sparsity-range", "02", Corrupt, "valid sparsity_ratio outside [0, 1]";
    StatsStddevNegative = "stats.stddev-negative", "02", Corrupt, "valid value_stddev below 0";
    // The composite member section
    CompositeMemberBaseSpan = "composite-member.base-span", "02", Corrupt, "base does not span its parent";
    CompositeMemberReserved = "composite-member.reserved", "02", Corrupt, "reserved bytes not zero";
    CompositeMemberRole = "composite-member.role", "02", Corrupt, "member_role above 1";
    CompositeMemberShardMissing = "composite-member.shard-missing", "02", Corrupt, "overlay member without a shard section";
    // Composites, when bound
    CompositeFirstMemberNotBase = "composite.first-member-not-base", "04", Corrupt, "the first member of an overlay is not its base";
    CompositeMemberSectionMissing = "composite.member-section-missing", "04", Corrupt, "an overlay member carries no member section";
    CompositeMemberTypeMismatch = "composite.member-type-mismatch", "04", Corrupt, "a member does not decode to the head's element type";
    CompositeMembersOverlap = "composite.members-overlap", "04", Corrupt, "two members of a partition cover the same element";
    CompositeNotCovered = "composite.not-covered", "04", Corrupt, "the members of a partition leave a part of the index space uncovered";
    CompositeParentShapeMismatch = "composite.parent-shape-mismatch", "04", Corrupt, "a member's parent_shape is not the head's shape";
    CompositeSecondBase = "composite.second-base", "04", Corrupt, "an overlay has a second base";
    CompositeTooDeep = "composite.too-deep", "04", Corrupt, "heads nested more than 8 deep";
    CompositeTorn = "composite.torn", "04", Corrupt, "fewer members follow than the head announces";
    CompositeUnexpectedMemberSection = "composite.unexpected-member-section", "04", Corrupt, "a partition or group member carries a member section";
    CompositeTooManyMembers = "composite.too-many-members", "04", Refused, "more members than the reader's limit";
    CompositeTooComplex = "composite.too-complex", "04", Refused, "proving the cover of a partition takes more work than the reader's limit";
    // The file container
    FileHeaderAlignmentNotPowerOfTwo = "file.header.alignment-not-power-of-two", "06", Corrupt, "data_buffer_alignment is 0 or no power of two";
    FileHeaderAlignmentTooLarge = "file.header.alignment-too-large", "06", Corrupt, "data_buffer_alignment above 2 MiB";
    FileHeaderAlignmentTooSmall = "file.header.alignment-too-small", "06", Corrupt, "data_buffer_alignment below 4096";
    FileHeaderFirstDescriptorInHeader = "file.header.first-descriptor-in-header", "06", Corrupt, "first_descriptor_offset below 64";
    FileHeaderFirstDescriptorMisaligned = "file.header.first-descriptor-misaligned", "06", Corrupt, "first_descriptor_offset is no multiple of 8";
    FileHeaderFirstDescriptorMismatch = "file.header.first-descriptor-mismatch", "06", Corrupt, "the first tensor does not start at first_descriptor_offset";
    FileHeaderFirstDescriptorOutOfRange = "file.header.first-descriptor-out-of-range", "06", Corrupt, "first_descriptor_offset past the trailer's start";
    FileHeaderMagic = "file.header.magic", "06", Corrupt, "does not begin with HRRYFILE";
    FileHeaderReserved = "file.header.reserved", "06", Corrupt, "bytes 10-11 not zero";
    FileHeaderReservedFlag = "file.header.reserved-flag", "06", Corrupt, "file_flags bit 3-31 set";
    FileHeaderReservedTail = "file.header.reserved-tail", "06", Corrupt, "bytes 36-63 not zero";
    FileHeaderTruncated = "file.header.truncated", "06", Corrupt, "shorter than a file header";
    FileHeaderVersionMajor = "file.header.version-major", "06", Unsupported, "container_version_major is not 1";
    FileIndexCountTooLarge = "file.index.count-too-large", "06", Corrupt, "more entries announced than the section can hold";
    FileIndexDataBeforeDescriptor = "file.index.data-before-descriptor", "06", Corrupt, "data does not follow its own descriptor";
    FileIndexDataLengthMismatch = "file.index.data-length-mismatch", "06", Corrupt, "data_length is not the buffers with the padding between them";
    FileIndexDataMisaligned = "file.index.data-misaligned", "06", Corrupt, "data_offset is no multiple of data_buffer_alignment";
    FileIndexDataOutOfRange = "file.index.data-out-of-range", "06", Corrupt, "data runs past the tensor region";
    FileIndexDataOverflow = "file.index.data-overflow", "06", Corrupt, "data_offset + data_length wraps";
    FileIndexDescriptorInHeader = "file.index.descriptor-in-header", "06", Corrupt, "the descriptor starts inside the file header";
    FileIndexDescriptorLengthMismatch = "file.index.descriptor-length-mismatch", "06", Corrupt, "descriptor_length differs from the descriptor's own";
    FileIndexDescriptorMisaligned = "file.index.descriptor-misaligned", "06", Corrupt, "descriptor_offset is no multiple of 8";
    FileIndexDescriptorOutOfRange = "file.index.descriptor-out-of-range", "06", Corrupt, "the descriptor runs past the tensor region";
    FileIndexDescriptorOverflow = "file.index.descriptor-overflow", "06", Corrupt, "descriptor_offset + descriptor_length wraps";
    FileIndexEntryFlags = "file.index.entry-flags", "06", Corrupt, "an entry's flags are not zero";
    FileIndexNameDuplicate = "file.index.name-duplicate", "06", Corrupt, "two entries have one name";
    FileIndexNameEmpty = "file.index.name-empty", "06", Corrupt, "an empty name";
    FileIndexNameNotUtf8 = "file.index.name-not-utf8", "06", Corrupt, "a name is not UTF-8";
    FileIndexNotSorted = "file.index.not-sorted", "06", Corrupt, "flagged as sorted, and is not";
    FileIndexTensorNotListed = "file.index.tensor-not-listed", "06", Corrupt, "a tensor in the file has no entry";
    FileIndexTensorsOverlap = "file.index.tensors-overlap", "06", Corrupt, "two tensors share bytes";
    FileIndexTrailingBytes = "file.index.trailing-bytes", "06", Corrupt, "bytes left after the last entry";
    FileIndexTruncated = "file.index.truncated", "06", Corrupt, "an entry runs past the section";
    FileKvArrayCountTooLarge = "file.kv.array-count-too-large", "06", Corrupt, "more array elements announced than the section can hold";
    FileKvArrayElementTag = "file.kv.array-element-tag", "06", Corrupt, "array element tag outside 1-6";
    FileKvBoolValue = "file.kv.bool-value", "06", Corrupt, "a bool that is neither 0 nor 1";
    FileKvCountTooLarge = "file.kv.count-too-large", "06", Corrupt, "more entries announced than the section can hold";
    FileKvInvalidTag = "file.kv.invalid-tag", "06", Corrupt, "value tag 0xFF";
    FileKvKeyDuplicate = "file.kv.key-duplicate", "06", Corrupt, "two entries have one key";
    FileKvKeyEmpty = "file.kv.key-empty", "06", Corrupt, "an empty key";
    FileKvKeyNotUtf8 = "file.kv.key-not-utf8", "06", Corrupt, "a key is not UTF-8";
    FileKvPrivateTag = "file.kv.private-tag", "06", Corrupt, "a private value tag without agreement";
    FileKvReservedTag = "file.kv.reserved-tag", "06", Corrupt, "value tag 0 or 0x08-0xEF";
    FileKvStringNotUtf8 = "file.kv.string-not-utf8", "06", Corrupt, "a string value is not UTF-8";
    FileKvTrailingBytes = "file.kv.trailing-bytes", "06", Corrupt, "bytes left after the last entry";
    FileKvTruncated = "file.kv.truncated", "06", Corrupt, "an entry runs past the section";
    FilePaddingHeaderNotZero = "file.padding.header-not-zero", "06", Corrupt, "non-zero padding before the first descriptor";
    FilePaddingNotZero = "file.padding.not-zero", "06", Corrupt, "non-zero padding";
    FileTrailerCrcMismatch = "file.trailer.crc-mismatch", "06", Corrupt, "the index does not match its CRC-32C";
    FileTrailerCrcWithoutFlag = "file.trailer.crc-without-flag", "06", Corrupt, "a CRC is given but the flag is clear";
    FileTrailerIndexInHeader = "file.trailer.index-in-header", "06", Corrupt, "the index starts inside the header";
    FileTrailerIndexMisaligned = "file.trailer.index-misaligned", "06", Corrupt, "index_offset is no multiple of 8";
    FileTrailerIndexOutOfRange = "file.trailer.index-out-of-range", "06", Corrupt, "the index runs into the trailer";
    FileTrailerIndexOverflow = "file.trailer.index-overflow", "06", Corrupt, "index_offset + index_length wraps";
    FileTrailerIndexTooShort = "file.trailer.index-too-short", "06", Corrupt, "no room for the entry count";
    FileTrailerKvInHeader = "file.trailer.kv-in-header", "06", Corrupt, "the KV section starts inside the header";
    FileTrailerKvMisaligned = "file.trailer.kv-misaligned", "06", Corrupt, "kv_offset is no multiple of 8";
    FileTrailerKvMissing = "file.trailer.kv-missing", "06", Corrupt, "flagged as having KV, and has none";
    FileTrailerKvOutOfRange = "file.trailer.kv-out-of-range", "06", Corrupt, "the KV section runs into the trailer";
    FileTrailerKvOverflow = "file.trailer.kv-overflow", "06", Corrupt, "kv_offset + kv_length wraps";
    FileTrailerMagic = "file.trailer.magic", "06", Corrupt, "does not end with HRRY";
    FileTrailerReserved = "file.trailer.reserved", "06", Corrupt, "reserved trailer bytes not zero";
    FileTrailerSectionsOverlap = "file.trailer.sections-overlap", "06", Corrupt, "KV and index share bytes";
    FileTrailerTruncated = "file.trailer.truncated", "06", Corrupt, "header and trailer do not both fit";
    FileHeaderWriterKvUndeclared = "file.header.writer-kv-undeclared", "06", Misuse, "key-values were added to a file begun without them";
    FileIndexNameTooLong = "file.index.name-too-long", "06", Misuse, "a name above 65,535 bytes";
    FileIndexUnknownName = "file.index.unknown-name", "06", Misuse, "no tensor has that name";
    FileIndexAboveLimit = "file.index.above-limit", "06", Refused, "the index is longer than the reader's limit";
    FileKvAboveLimit = "file.kv.above-limit", "06", Refused, "the KV section is longer than the reader's limit";
    FileKvKeyTooLong = "file.kv.key-too-long", "06", Misuse, "a key above 65,535 bytes";
    FileKvValueTooLong = "file.kv.value-too-long", "06", Misuse, "a value or section above what its length field can say";
    FileTensorBufferLength = "file.tensor.buffer-length", "06", Misuse, "bytes of another length than the descriptor says";
    FileTensorBufferCount = "file.tensor.buffer-count", "06", Misuse, "another number of buffers than the descriptor has";
    FileTensorChecksumMismatch = "file.tensor.checksum-mismatch", "06", Corrupt, "a buffer does not match its CRC-32C in hurray.crc32c.*";
    FileTensorChecksumKey = "file.tensor.checksum-key", "06", Corrupt, "a hurray.crc32c.* value is not one u64 a buffer, or names no tensor";
    FileTensorSequenceLengthsKey = "file.tensor.sequence-lengths-key", "06", Corrupt, "a hurray.seq_lens.* value is no array of u64, or names no tensor";
    FileTensorAliasKey = "file.tensor.alias-key", "06", Corrupt, "a hurray.alias.* value names no tensor, or shadows one";
    // The contents of sparse and paged buffers
    SparseOutOfMemory = "sparse.out-of-memory", "04", Refused, "not enough memory to look for duplicate entries";
    SparseBufferCount = "sparse.buffer-count", "04", Misuse, "another number of buffers than the layout has";
    SparseBufferTooSmall = "sparse.buffer-too-small", "04", Misuse, "a buffer is smaller than its handle says";
    SparseCooOutOfBounds = "sparse.coo.out-of-bounds", "04", Corrupt, "an index is not below its dimension";
    SparseCooDuplicate = "sparse.coo.duplicate", "04", Corrupt, "two entries have one index";
    SparseCooNotSorted = "sparse.coo.not-sorted", "04", Corrupt, "flagged as sorted, and is not";
    SparseCompressedPointerStart = "sparse.compressed.pointer-start", "04", Corrupt, "the first pointer is not 0";
    SparseCompressedPointerDecreases = "sparse.compressed.pointer-decreases", "04", Corrupt, "a pointer is below the one before it";
    SparseCompressedPointerEnd = "sparse.compressed.pointer-end", "04", Corrupt, "the last pointer is not nnz";
    SparseCompressedOutOfBounds = "sparse.compressed.out-of-bounds", "04", Corrupt, "an index is not below its dimension";
    SparseCompressedNotIncreasing = "sparse.compressed.not-increasing", "04", Corrupt, "indices do not strictly increase inside a row or column";
    SparseCsfPointerStart = "sparse.csf.pointer-start", "04", Corrupt, "a level's first pointer is not 0";
    SparseCsfPointerDecreases = "sparse.csf.pointer-decreases", "04", Corrupt, "a pointer is below the one before it";
    SparseCsfPointerEnd = "sparse.csf.pointer-end", "04", Corrupt, "a level's last pointer runs past its coordinates";
    SparseCsfOutOfBounds = "sparse.csf.out-of-bounds", "04", Corrupt, "a coordinate is not below its dimension";
    SparseCsfNotIncreasing = "sparse.csf.not-increasing", "04", Corrupt, "coordinates do not strictly increase between siblings";
    SparseBlockPagedPointerStart = "sparse.block-paged.pointer-start", "04", Corrupt, "seq_ptr does not start at 0";
    SparseBlockPagedPointerDecreases = "sparse.block-paged.pointer-decreases", "04", Corrupt, "seq_ptr decreases";
    SparseBlockPagedPointerEnd = "sparse.block-paged.pointer-end", "04", Corrupt, "seq_ptr ends beyond the block table";
    SparseBlockPagedPageId = "sparse.block-paged.page-id", "04", Corrupt, "a page id is not below num_pages";
    SparseBlockPagedTokenCounts = "sparse.block-paged.token-counts", "04", Corrupt, "token counts are not one for each sequence, or beyond its pages";
    // Looking up one element
    IndexRank = "index.rank", "04", Misuse, "not one index for each dimension";
    IndexOutOfBounds = "index.out-of-bounds", "04", Misuse, "an index is not below its dimension";
    IndexNoAddress = "index.no-address", "04", Misuse, "the layout gives no address without its buffers";
    // Plain streams
    StreamTruncated = "stream.truncated", "09", Corrupt, "the input ends inside a tensor";
    // Memory in life
    MemoryAddressMisaligned = "memory.address-misaligned", "01", Peer, "the address is not aligned as its handle says";
    MemoryAddressNull = "memory.address-null", "01", Peer, "no address for a buffer that is not empty";
    MemoryAddressBeyond = "memory.address-beyond", "01", Peer, "memory that runs past the end of the address space";
    MemoryAlignment = "memory.alignment", "01", Misuse, "memory is aligned to a power of two, 64 or more";
    MemoryUnaligned = "memory.unaligned", "09", Refused, "memory that does not start at a multiple of 64 holds dense tensors only";
    MemoryBeforeStart = "memory.before-start", "09", Misuse, "the tensor reaches bytes in front of the adopted memory";
    MemoryCount = "memory.count", "01", Misuse, "another number of buffers than the descriptor has";
    MemorySize = "memory.size", "01", Misuse, "memory of another length than its handle says";
    MemoryTooLarge = "memory.too-large", "01", Refused, "more memory than this machine can address";
    MemoryDevice = "memory.device", "01", Misuse, "memory of another device or class than its handle says";
    MemoryRange = "memory.range", "01", Misuse, "a slice that does not lie inside its buffer";
    MemorySliceUnaligned = "memory.slice-unaligned", "01", Misuse, "a slice of a buffer starts at a multiple of 64; move byte_offset for less";
    MemoryNotHost = "memory.not-host", "01", Refused, "the CPU cannot look at this memory; ask for a copy on the host";
    MemoryReadOnly = "memory.read-only", "10", Refused, "the memory is read-only";
    MemoryShared = "memory.shared", "01", Refused, "somebody else holds the memory too";
    MemoryMayChange = "memory.may-change", "01", Refused, "others can still change this memory; copy it out";
    MemoryOwner = "memory.owner", "01", Misuse, "the memory is kept by something else than was asked for";
    MemoryHostElsewhere = "memory.host-elsewhere", "10", Peer, "on the CPU the address and the host pointer are two places";
    // Views of tensors
    ViewType = "view.type", "03", Misuse, "asked for as another element type";
    ViewNotContiguous = "view.not-contiguous", "04", Refused, "the elements are not one run in index order";
    ViewUnaligned = "view.unaligned", "03", Refused, "the elements lie at addresses that their type may not have; make a copy";
    ViewLayout = "view.layout", "04", Refused, "only row-major, column-major and strided tensors can be cut or turned";
    ViewSubByte = "view.sub-byte", "03", Refused, "elements below a byte would start inside a byte or a group of four";
    ViewQuantization = "view.quantization", "05", Refused, "the scales would not be those of the view's elements; copy or dequantize first";
    ViewRange = "view.range", "04", Misuse, "a range that does not lie inside its dimension, or a step of 0";
    ViewAxes = "view.axes", "04", Misuse, "axes that are not there, or not each once";
    ViewElementCount = "view.element-count", "04", Misuse, "a shape of another number of elements";
    ViewReshape = "view.reshape", "04", Refused, "the shape needs the elements in another order; make a copy first";
    ViewBroadcast = "view.broadcast", "04", Misuse, "only a dimension of size 1 can be repeated";
    ViewElementWidth = "view.element-width", "03", Refused, "elements wider than 128 bits are bytes, not a number";
    TranscodeOverlap = "transcode.overlap", "04", Misuse, "a layout to write to that puts two elements in one place";
    ViewTooMany = "view.too-many", "04", Refused, "more elements than this machine counts";
    ViewExpands = "view.expands", "09", Refused, "the copy needs more bytes than it was allowed";
    ViewNotVector = "view.not-vector", "01", Refused, "the tensor is not all of a vector that nobody else holds; make a copy";
    // Synchronisation and devices
    SyncDeviceUnknown = "sync.device-unknown", "01", Unsupported, "no device at hand can wait for this event or stream";
    SyncDeviceMismatch = "sync.device-mismatch", "01", Misuse, "a stream, an event or memory of another device";
    SyncNoStream = "sync.no-stream", "01", Misuse, "no stream was named to use the memory on";
    SyncEventSpent = "sync.event-spent", "10", Misuse, "an event that allows one wait was waited for already";
    SyncNotReady = "sync.not-ready", "01", Misuse, "the memory was made ready for other streams than this one";
    DeviceClass = "device.class", "01", Unsupported, "the device has no such memory class";
    DeviceExport = "device.export", "01", Unsupported, "the device cannot hand this to another process";
    DeviceExportUnaligned = "device.export-unaligned", "01", Refused, "what goes to another process starts at a multiple of 4096";
    DeviceEventKind = "device.event-kind", "10", Unsupported, "the device has no such kind of event";
    DeviceImport = "device.import", "01", Peer, "what another process handed over is no memory or event, or may be cut short";
    DeviceFailed = "device.failed", "01", System, "the device's driver reports a failure";
    // The exchange structs
    ExchangeNull = "exchange.null", "10", Peer, "a null pointer where a struct, an array or a callback must be";
    ExchangeReleased = "exchange.released", "10", Peer, "the struct was released or consumed before";
    ExchangeVersion = "exchange.version", "10", Unsupported, "abi_version is not 1";
    ExchangeMisaligned = "exchange.misaligned", "10", Peer, "a struct or an array that is not at a multiple of 8";
    ExchangeStructSize = "exchange.struct-size", "10", Peer, "struct_size is below the size of version 1";
    ExchangeFlags = "exchange.flags", "10", Unsupported, "a flag that is not known here";
    ExchangeReserved = "exchange.reserved", "10", Peer, "reserved bytes not zero";
    ExchangeBufferCount = "exchange.buffer-count", "10", Peer, "another number of buffers than the descriptor has";
    ExchangeMemberCount = "exchange.member-count", "10", Peer, "another number of members than the head announces";
    ExchangeHandle = "exchange.handle", "10", Peer, "a buffer's handle differs from the descriptor's";
    ExchangeSyncDevice = "exchange.sync-device", "10", Peer, "the event or stream is of another device than the buffer";
    ExchangeEventMissing = "exchange.event-missing", "10", Peer, "no event where the sync mode is EVENT";
    ExchangeEventUnexpected = "exchange.event-unexpected", "10", Peer, "an event, or a value of one, that does not go with the mode or the kind";
    ExchangeEventKind = "exchange.event-kind", "10", Unsupported, "event_kind above 3";
    ExchangeEventShared = "exchange.event-shared", "10", Peer, "two buffers name one event that allows one wait";
    ExchangeEventRelease = "exchange.event-release", "10", Peer, "an event without release_event";
    ExchangeStreamMissing = "exchange.stream-missing", "10", Peer, "no stream where the sync mode is CONSUMER_STREAM";
    ExchangeStreamUnexpected = "exchange.stream-unexpected", "10", Peer, "a stream where the sync mode is not CONSUMER_STREAM";
    ExchangeHost = "exchange.host", "10", Peer, "a host pointer to memory that its class keeps the CPU out of";
    ExchangeQueueFamily = "exchange.queue-family", "10", Unsupported, "a Vulkan buffer that one queue family owns";
    ExchangeComposite = "exchange.composite", "10", Misuse, "a composite where a tensor without members was asked for";
    ExchangeUndescribed = "exchange.undescribed", "10", Unsupported, "the producer does not know the descriptor before";
    ExchangeProduceRefused = "exchange.produce-refused", "10", Refused, "the producer refuses, with this status";
    ExchangeProduceFailed = "exchange.produce-failed", "10", Peer, "the producer failed, with this status";
    ExchangeUnrequested = "exchange.unrequested", "10", Peer, "the producer handed out what the request did not accept";
    ExchangeRequestSync = "exchange.request-sync", "10", Refused, "the consumer accepts no sync mode or event kind that can be had";
    ExchangeRequestDevice = "exchange.request-device", "10", Refused, "the data is on another device than the one asked for";
    ExchangeRequestClass = "exchange.request-class", "10", Refused, "the data is in a memory class that was not asked for";
    ExchangeRequestAlignment = "exchange.request-alignment", "10", Refused, "the data is aligned to less than was asked for";
    ExchangeRequestWritable = "exchange.request-writable", "10", Refused, "the data cannot be given away to be written";
    ExchangeRequestCopy = "exchange.request-copy", "10", Refused, "a copy was asked for and is not made here";
    // DLPack
    DlpackNull = "dlpack.null", "08", Peer, "null for a managed tensor, or one that was taken before, or for a shape";
    DlpackVersion = "dlpack.version", "08", Unsupported, "the major version is not 1";
    DlpackRank = "dlpack.rank", "08", Peer, "ndim is negative or above 64";
    DlpackShape = "dlpack.shape", "08", Peer, "a size is negative";
    DlpackStridesNull = "dlpack.strides-null", "08", Peer, "no strides, which version 1.2 and later must have";
    DlpackExtent = "dlpack.extent", "08", Peer, "shape, strides and byte_offset leave the address space";
    DlpackDataNull = "dlpack.data-null", "08", Peer, "no address for a tensor that has elements";
    DlpackDeviceId = "dlpack.device-id", "08", Peer, "a device number that is negative or above 31 bits";
    DlpackBoolValue = "dlpack.bool-value", "08", Peer, "a bool of a byte that is neither 0 nor 1";
    DlpackFlags = "dlpack.flags", "08", Unsupported, "a flag that is not known here, and may change what the bytes mean";
    DlpackDevice = "dlpack.device", "08", Unsupported, "a device or memory class that the other side has no word for";
    DlpackHandle = "dlpack.handle", "08", Unsupported, "memory without the address or object that DLPack names its device's by";
    DlpackType = "dlpack.type", "08", Unsupported, "an element type that the other side has no word for";
    DlpackLanes = "dlpack.lanes", "08", Unsupported, "elements of more than one number";
    DlpackLayout = "dlpack.layout", "08", Unsupported, "a layout that DLPack has no word for; a dense tensor can be copied";
    DlpackQuantized = "dlpack.quantized", "08", Unsupported, "DLPack carries no scales and zero points";
    DlpackSize = "dlpack.size", "08", Unsupported, "a size or stride above 63 bits";
    DlpackStream = "dlpack.stream", "08", Misuse, "a stream that the kind of device does not have";
    DlpackReadOnly = "dlpack.read-only", "08", Refused, "the struct without flags cannot say that memory is read-only";
    DlpackBool = "dlpack.bool", "08", Refused, "a bool is a bit here and a byte in DLPack; it can be copied";
    DlpackPadded = "dlpack.padded", "08", Refused, "elements below a byte that are padded to one; they can be copied";
    DlpackTail = "dlpack.tail", "08", Refused, "6-bit elements that end inside a group of four; they can be copied";
    DlpackMisaligned = "dlpack.misaligned", "08", Refused, "elements that are not aligned for their type; they can be copied";
    DlpackCopyAboveLimit = "dlpack.copy-above-limit", "08", Refused, "a copy that takes more bytes than were allowed";
    // The C library
    CapiNull = "capi.null", "08", Misuse, "a null pointer where the call needs one";
    CapiMisaligned = "capi.misaligned", "08", Misuse, "a pointer that is not aligned for what it points to";
    CapiLength = "capi.length", "08", Misuse, "more items than memory can hold";
    CapiText = "capi.text", "08", Misuse, "text that is not UTF-8";
    CapiStructSize = "capi.struct-size", "08", Misuse, "struct_size is not set, or is no struct's size";
    CapiStructNewer = "capi.struct-newer", "08", Unsupported, "a struct uses fields that this library does not know";
    CapiReserved = "capi.reserved", "08", Misuse, "a reserved byte or bit is not zero";
    CapiOutputTooSmall = "capi.output-too-small", "08", Misuse, "the output has no room for what it is to hold";
    CapiAbsent = "capi.absent", "08", Misuse, "asked for a part that is not there";
    CapiPlace = "capi.place", "08", Misuse, "a place past the last one";
    CapiFinished = "capi.finished", "08", Misuse, "the handle is spent: it has finished, or failed half-way";
    CapiUnknownRule = "capi.unknown-rule", "08", Misuse, "no rule has that id";
}

impl Rule {
    /// The stable id, such as `descriptor.magic`.
    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// The number of the specification page, such as `02`.
    pub const fn page(self) -> &'static str {
        self.row().page
    }

    /// Whose fault a breach is.
    pub const fn fault(self) -> Fault {
        self.row().fault
    }

    /// What a breach means, as half a sentence without a full stop.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The rule with that id, if there is one.
    ///
    /// ```
    /// use hurray_format::Rule;
    /// assert_eq!(Rule::from_id("descriptor.magic"), Some(Rule::DescriptorMagic));
    /// assert_eq!(Rule::from_id("no.such-rule"), None);
    /// ```
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
