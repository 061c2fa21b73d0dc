"""Tensors of every kind the peer can make, each with what the format says its descriptor holds.

The expectation is written from the format, not read back from the peer: `expected` has the keys of the
vectors, `buffers` the bytes that were put in.
"""

import random
import struct
from dataclasses import dataclass

import hurray
import numpy as np

# name: (tag, bits)
TYPES = {
    "float16": (0x01, 16), "bfloat16": (0x02, 16), "float32": (0x03, 32), "float64": (0x04, 64),
    "int8": (0x10, 8), "uint8": (0x11, 8), "int16": (0x12, 16), "uint16": (0x13, 16),
    "int32": (0x14, 32), "uint32": (0x15, 32), "int64": (0x16, 64), "uint64": (0x17, 64),
    "bool": (0x20, 1),
    "float8_e4m3": (0x40, 8), "float8_e5m2": (0x41, 8), "float8_e8m0": (0x42, 8),
    "float4_e2m1": (0x43, 4), "float6_e2m3": (0x44, 6), "float6_e3m2": (0x45, 6),
    "float128": (0x46, 128),
    "int4": (0x48, 4), "uint4": (0x49, 4), "int2": (0x4A, 2), "uint2": (0x4B, 2),
    "complex64": (0x50, 64), "complex128": (0x51, 128),
}  # fmt: skip

LAYOUTS = {
    "row-major": 0x01, "column-major": 0x02, "strided": 0x03, "tiled": 0x04, "morton": 0x05,
    "coo": 0x06, "csr": 0x07, "csc": 0x08, "csf": 0x09, "block-paged": 0x0A, "hilbert": 0x40,
}  # fmt: skip

DYNAMIC = 2**64 - 1


@dataclass
class Case:
    name: str
    tensor: hurray.Tensor
    expected: dict
    buffers: list

    def __repr__(self):
        return self.name


def case(
    name, dtype, shape, buffers, layout="row-major", fields=None, peer_layout=None, quantization=None,
    **sections,
):
    """A case; `quantization` is (the peer's object, the expected fields), each section likewise."""
    tag = TYPES[dtype][0]
    expected = {
        "version_major": 1,
        "version_minor": 0,
        "type_tag": tag,
        "layout_tag": LAYOUTS[layout],
        "shape": [DYNAMIC if size is None else size for size in shape],
        "byte_offset": 0,
        "layout": fields or {},
    }
    given = {}
    if quantization:
        given["quantization"], expected["quantization"] = quantization
    for section, (value, meaning) in sections.items():
        given[section], expected[section] = value, meaning
    tensor = hurray.Tensor(
        buffers[0],
        getattr(hurray.dtype, dtype),
        shape,
        aux_buffers=buffers[1:] or None,
        layout=peer_layout,
        **given,
    )
    expected["buffers"] = [
        {
            "byte_size": len(buffer),
            "alignment": 64 if buffer else 1,
            "device_tag": 0,
            "sync_mode": 0,
            "memory_class": 0,
        }
        for buffer in buffers
    ]
    return Case(name, tensor, expected, buffers)


def packed(dtype, count):
    """`count` elements of any bit patterns that may be written, as the format packs them."""
    bits = TYPES[dtype][1]
    pick = random.Random(f"{dtype} {count}")
    if bits >= 8:
        # e8m0 codes 0 and 255 are not to be written.
        low, high = (1, 254) if dtype == "float8_e8m0" else (0, 255)
        return bytes(pick.randint(low, high) for _ in range(count * bits // 8))
    whole = 0
    for i in range(count):
        whole |= pick.getrandbits(bits) << i * bits
    size = -(-count // 4) * 3 if bits == 6 else -(-count * bits // 8)
    return whole.to_bytes(size, "little")


def floats(count):
    return packed("float32", count)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def i32(*values):
    return struct.pack(f"<{len(values)}i", *values)


def dense():
    for dtype in TYPES:
        yield case(f"dense {dtype}", dtype, [3, 5], [packed(dtype, 15)])
        yield case(f"scalar {dtype}", dtype, [], [packed(dtype, 1)])
        yield case(f"empty {dtype}", dtype, [3, 0, 2], [b""])
    yield case("rank 64", "float32", [1] * 63 + [2], [floats(2)])
    yield case("larger buffer", "float32", [4], [floats(5)])
    # The peer spells a dynamic dimension None.
    yield case("dynamic", "float32", [None, 2], [floats(6)])


def placed():
    """Dense, in other orders than row-major."""
    h = hurray
    yield case("column-major", "float32", [3, 5], [floats(15)], "column-major", None, h.ColMajorLayout())
    yield case("column-major empty", "int8", [0, 5], [b""], "column-major", None, h.ColMajorLayout())
    for name, dtype, shape, strides, count in [
        ("transposed", "float32", [3, 5], [1, 3], 15),
        ("gapped", "int16", [3, 5], [8, 1], 21),
        ("gapped nibbles", "uint4", [3, 5], [8, 1], 21),
        ("rank 3", "float64", [2, 3, 4], [4, 8, 1], 24),
    ]:
        yield case(
            f"strided {name}", dtype, shape, [packed(dtype, count)], "strided", {"strides": strides},
            h.StridedLayout(strides),
        )  # fmt: skip
    plain = {"tile_shape": [2, 4], "outer_layout": 1, "inner_layout": 1}
    yield case("tiled", "float32", [5, 7], [floats(48)], "tiled", plain, h.TiledLayout([2, 4]))
    yield case("tiled int4", "int4", [5, 7], [packed("int4", 48)], "tiled", plain, h.TiledLayout([2, 4]))
    yield case(
        "tiled column-major", "int8", [5, 7], [packed("int8", 48)], "tiled",
        {"tile_shape": [2, 4], "outer_layout": 2, "inner_layout": 2},
        h.TiledLayout([2, 4], outer_layout="col_major", inner_layout="col_major"),
    )  # fmt: skip
    yield case(
        "tiled strided", "int8", [5, 7], [packed("int8", 48)], "tiled",
        {
            "tile_shape": [2, 4], "outer_layout": 3, "inner_layout": 3, "outer_strides": [1, 3],
            "inner_strides": [1, 2],
        },
        h.TiledLayout(
            [2, 4], outer_layout="strided", inner_layout="strided", outer_strides=[1, 3],
            inner_strides=[1, 2],
        ),
    )  # fmt: skip
    yield case(
        "tiled nested", "int8", [8, 8], [packed("int8", 64)], "tiled",
        {
            "tile_shape": [4, 4], "outer_layout": 1, "inner_layout": 4,
            "inner": {"tile_shape": [2, 2], "outer_layout": 1, "inner_layout": 1},
        },
        h.TiledLayout([4, 4], inner_layout="tiled", inner_tiled=h.TiledLayout([2, 2])),
    )  # fmt: skip
    yield case(
        "morton", "float32", [3, 4], [floats(16)], "morton", {"morton_bits": [2, 2]}, h.MortonLayout([2, 2])
    )
    # 2^(1+3) places: the compact interleaving fills exactly those.
    yield case(
        "morton unequal", "int8", [2, 8], [packed("int8", 16)], "morton", {"morton_bits": [1, 3]},
        h.MortonLayout([1, 3]),
    )  # fmt: skip
    yield case(
        "hilbert", "float32", [4, 4], [floats(16)], "hilbert", {"hilbert_order": 2, "hilbert_rank": 2},
        h.HilbertLayout(2, 2),
    )  # fmt: skip


def affine(tag, flags, **fields):
    return {"scheme_tag": tag, "scheme_version": 1, "flags": flags, **fields}


def quantized():
    h = hurray
    for dtype, zero in [
        ("int8", -128), ("uint8", 255), ("int16", 30000), ("uint16", 7), ("int32", -5), ("uint32", 9),
        ("int4", -8), ("uint4", 15), ("int2", 1), ("uint2", 3),
    ]:  # fmt: skip
        yield case(
            f"per-tensor {dtype}", dtype, [3, 5], [packed(dtype, 15)],
            quantization=(
                h.PerTensorAffine(0.5, zero), affine(1, 0, scale_bits=0x3F000000, zero_point=zero)
            ),
        )  # fmt: skip
    channel = dict(axis=1, scale_buffer_index=1, scale_type_tag=3)
    scales = f32(0.5, -1, 2, 4, 8)
    zeros = i32(-128, 0, 1, 2, 127)
    q = packed("int8", 15)
    yield case(
        "per-channel symmetric", "int8", [3, 5], [q, scales],
        quantization=(
            h.PerChannelAffine.symmetric(1, 1),
            affine(2, 1, **channel, zero_point_buffer_index=0xFFFFFFFF),
        ),
    )  # fmt: skip
    yield case(
        "per-channel", "int8", [3, 5], [q, scales, zeros],
        quantization=(
            h.PerChannelAffine.asymmetric(1, 1, 2), affine(2, 0, **channel, zero_point_buffer_index=2)
        ),
    )  # fmt: skip
    yield case(
        "per-channel shared buffer", "int8", [3, 5], [q, scales + zeros],
        quantization=(
            h.PerChannelAffine.asymmetric(1, 1, 1), affine(2, 0, **channel, zero_point_buffer_index=1)
        ),
    )  # fmt: skip
    yield case(
        "per-channel column-major", "int8", [3, 5], [q, scales], "column-major", None, h.ColMajorLayout(),
        quantization=(
            h.PerChannelAffine.symmetric(1, 1),
            affine(2, 1, **channel, zero_point_buffer_index=0xFFFFFFFF),
        ),
    )  # fmt: skip
    block = dict(axis=1, block_size=4, scale_buffer_index=1)
    brain = bytes.fromhex("803f004080400041")  # bfloat16 1, 2, 4, 8
    halves = struct.pack("<4e", 0.5, 1, 2, -4)
    yield case(
        "per-block symmetric float16", "int4", [2, 8], [packed("int4", 16), halves],
        quantization=(
            h.PerBlockAffine.symmetric(1, 4, 1, h.float16),
            affine(3, 1, **block, zero_point_buffer_index=0xFFFFFFFF, scale_type_tag=1),
        ),
    )  # fmt: skip
    yield case(
        "per-block bfloat16", "uint4", [2, 8], [packed("uint4", 16), brain, i32(0, -9, 99, 1)],
        quantization=(
            h.PerBlockAffine.asymmetric(1, 4, 1, 2, h.bfloat16),
            affine(3, 0, **block, zero_point_buffer_index=2, scale_type_tag=2),
        ),
    )  # fmt: skip
    yield case(
        "per-block partial", "uint8", [2, 6], [packed("uint8", 12), f32(1, 2, 3, 4)],
        quantization=(
            h.PerBlockAffine.symmetric(1, 4, 1, h.float32),
            affine(3, 1, **block, zero_point_buffer_index=0xFFFFFFFF, scale_type_tag=3),
        ),
    )  # fmt: skip
    yield case(
        "nf4", "uint4", [2, 8], [packed("uint4", 16), f32(1, 0)],
        quantization=(h.NF4(1, 8, 1), affine(4, 0, axis=1, block_size=8, scale_buffer_index=1)),
    )  # fmt: skip
    yield case(
        "nf4 partial", "uint4", [12], [packed("uint4", 12), f32(1.5, 2)],
        quantization=(h.NF4(0, 8, 1), affine(4, 0, axis=0, block_size=8, scale_buffer_index=1)),
    )  # fmt: skip
    for dtype in [
        "float8_e4m3", "float8_e5m2", "float4_e2m1", "float6_e2m3", "float6_e3m2", "int8", "int4",
    ]:  # fmt: skip
        yield case(
            f"mxfp {dtype}", dtype, [2, 32], [packed(dtype, 64), bytes([127, 254])],
            quantization=(h.MXFP(1, 32, 1), affine(5, 0, axis=1, block_size=32, scale_buffer_index=1)),
        )  # fmt: skip


def sparse():
    h = hurray
    yield case(
        "coo sorted", "float32", [3, 4], [floats(3), u64(0, 1, 2, 0, 2, 3)], "coo",
        {"nnz": 3, "is_sorted": 1}, h.CooLayout(3, True),
    )  # fmt: skip
    yield case(
        "coo unsorted", "float64", [3, 4], [packed("float64", 2), u64(2, 3, 0, 1)], "coo",
        {"nnz": 2, "is_sorted": 0}, h.CooLayout(2, False),
    )  # fmt: skip
    yield case(
        "coo nothing", "float32", [3, 4], [b"", b""], "coo", {"nnz": 0, "is_sorted": 1}, h.CooLayout(0, True)
    )
    yield case(
        "coo nibbles", "int4", [3, 4], [packed("int4", 3), u64(0, 1, 2, 0, 2, 3)], "coo",
        {"nnz": 3, "is_sorted": 1}, h.CooLayout(3, True),
    )  # fmt: skip
    yield case(
        "coo per-channel", "int8", [3, 4], [packed("int8", 2), u64(0, 1, 2, 2), f32(1, 2, 3, 4)], "coo",
        {"nnz": 2, "is_sorted": 1}, h.CooLayout(2, True),
        quantization=(
            h.PerChannelAffine.symmetric(1, 2),
            affine(
                2, 1, axis=1, scale_buffer_index=2, zero_point_buffer_index=0xFFFFFFFF, scale_type_tag=3
            ),
        ),
    )  # fmt: skip
    pointers = u64(1, 3, 0), u64(0, 2, 2, 3)
    yield case("csr", "float32", [3, 4], [floats(3), *pointers], "csr", {"nnz": 3}, h.CsrLayout(3))
    yield case(
        "csr nothing", "float32", [3, 4], [b"", b"", u64(0, 0, 0, 0)], "csr", {"nnz": 0}, h.CsrLayout(0)
    )
    yield case("csc", "bfloat16", [4, 3], [packed("bfloat16", 3), *pointers], "csc", {"nnz": 3}, h.CscLayout(3))
    tree = [u64(0, 1), u64(1), u64(0, 2), u64(0, 1), u64(0, 1, 3), u64(1, 0, 1)]
    yield case(
        "csf", "float32", [2, 3, 4], [floats(3), *tree], "csf", {"nnz": 3, "mode_order": [0, 1, 2]},
        h.CsfLayout(3, [0, 1, 2]),
    )  # fmt: skip
    yield case(
        "csf other order", "float32", [2, 3, 4], [floats(3), *tree], "csf",
        {"nnz": 3, "mode_order": [2, 1, 0]}, h.CsfLayout(3, [2, 1, 0]),
    )  # fmt: skip
    yield case(
        "csf nothing", "float32", [2, 3, 4], [b"", u64(0, 0), b"", u64(0), b"", u64(0), b""], "csf",
        {"nnz": 0, "mode_order": [0, 1, 2]}, h.CsfLayout(0, [0, 1, 2]),
    )  # fmt: skip


def paged():
    h = hurray
    fields = {"page_size": 2, "num_pages": 3, "paged_axis": 0, "num_seqs": 2}
    yield case(
        "block-paged", "float32", [5, 1, 4], [floats(24), u32(0, 2, 1), u32(0, 2, 3)], "block-paged",
        {**fields, "kv_role": 0, "layer_index": 0xFFFFFFFF, "block_table_index_type": 0},
        h.BlockPagedLayout(2, 3, 0, 2),
    )  # fmt: skip
    yield case(
        "block-paged u64", "bfloat16", [5, 1, 4], [packed("bfloat16", 24), u64(0, 2, 1), u64(0, 2, 3)],
        "block-paged", {**fields, "kv_role": 1, "layer_index": 7, "block_table_index_type": 1},
        h.BlockPagedLayout(2, 3, 0, 2, kv_role="value", layer_index=7, block_table_index_type="uint64"),
    )  # fmt: skip
    yield case(
        "block-paged per-block", "int8", [5, 1, 4],
        [packed("int8", 24), u32(0, 2, 1), u32(0, 2, 3), f32(1, 2, 3, 4, 5, 6)], "block-paged",
        {**fields, "kv_role": 2, "layer_index": 0, "block_table_index_type": 0},
        h.BlockPagedLayout(2, 3, 0, 2, kv_role="fused", layer_index=0),
        quantization=(
            h.PerBlockAffine.symmetric(0, 2, 3, h.float32),
            affine(
                3, 1, axis=0, block_size=2, scale_buffer_index=3, zero_point_buffer_index=0xFFFFFFFF,
                scale_type_tag=3,
            ),
        ),
    )  # fmt: skip


def sections():
    h = hurray
    yield case(
        "shard", "float32", [2, 2], [floats(4)],
        shard=(h.Shard([4, 4], [2, 1]), {"parent_shape": [4, 4], "shard_offset": [2, 1]}),
    )  # fmt: skip
    yield case(
        "statistics", "float32", [2, 2], [f32(0, -1, 0, 2)],
        statistics=(
            h.Statistics(
                nnz=2, sparsity_ratio=0.5, value_min=-1, value_max=2, value_abs_max=2, value_mean=0.25,
                value_stddev=1.5, nm_n=2, nm_m=4, has_nan=False, has_inf=False,
            ),
            {
                "computed_mask": 0x3F, "nnz": 2, "sparsity_ratio_bits": bits(0.5),
                "value_min_bits": bits(-1), "value_max_bits": bits(2), "value_abs_max_bits": bits(2),
                "value_mean_bits": bits(0.25), "value_stddev_bits": bits(1.5), "nm_n": 2, "nm_m": 4,
                "has_nan": 0, "has_inf": 0,
            },
        ),
    )  # fmt: skip


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


ALL = [*dense(), *placed(), *quantized(), *sparse(), *paged(), *sections()]
