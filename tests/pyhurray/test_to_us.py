"""pyhurray writes; our command verifies, inspects and gives out the same bytes."""

import hurray
import numpy as np
import pytest
from cases import ALL, f32, floats, i32, packed, u32, u64
from conftest import same
from peer import save, stream

float32, int8 = hurray.float32, hurray.int8


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_a_file_of_each_kind(ours, tmp_path, case):
    path = tmp_path / "x.hrry"
    save(path, {"a tensor": case.tensor})
    ours.verify(path)
    (tensor,) = ours.inspect(path)["tensors"]
    assert tensor["name"] == "a tensor"
    assert same(tensor["descriptor"], case.expected)
    assert [b["length"] for b in tensor["buffers"]] == [len(b) for b in case.buffers]
    assert [ours.cat(path, "a tensor", i) for i in range(len(case.buffers))] == case.buffers


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_a_stream_of_each_kind(ours, tmp_path, case):
    path = tmp_path / "x.hrrys"
    path.write_bytes(stream(case.tensor))
    ours.verify(path, "stream")
    (descriptor,) = ours.descriptors(path, "stream")
    assert same(descriptor, case.expected)


def test_everything_in_one_file(ours, tmp_path):
    path = tmp_path / "x.hrry"
    save(path, {case.name: case.tensor for case in ALL}, {"cases": len(ALL)})
    ours.verify(path)
    assert ours.names(path) == [case.name for case in ALL]
    for seen, case in zip(ours.descriptors(path), ALL):
        assert same(seen, case.expected), case.name
    assert ours.key_values(path) == [("cases", "int64", len(ALL))]


def test_everything_in_one_stream(ours, tmp_path):
    path = tmp_path / "x.hrrys"
    path.write_bytes(stream(*(case.tensor for case in ALL)))
    ours.verify(path, "stream")
    for seen, case in zip(ours.descriptors(path, "stream"), ALL, strict=True):
        assert same(seen, case.expected), case.name


def test_numpy_arrays_handed_over_without_a_copy(ours, tmp_path):
    with hurray.aligned_allocator():
        arrays = {
            dtype: np.arange(2048, dtype=dtype).reshape(32, 64)
            for dtype in ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16")
        }
    path = tmp_path / "x.hrry"
    save(path, {dtype: hurray.from_numpy(array, copy=False) for dtype, array in arrays.items()})
    ours.verify(path)
    for dtype, array in arrays.items():
        assert ours.cat(path, dtype) == array.tobytes()


def test_no_tensors(ours, tmp_path):
    save(tmp_path / "x.hrry", {})
    ours.verify(tmp_path / "x.hrry")
    assert ours.inspect(tmp_path / "x.hrry")["tensors"] == []
    (tmp_path / "x.hrrys").write_bytes(b"")
    ours.verify(tmp_path / "x.hrrys", "stream")
    assert ours.descriptors(tmp_path / "x.hrrys", "stream") == []


def test_key_values_of_every_type(ours, tmp_path):
    pairs = [
        ("s", "string", "héllo 世"), ("s0", "string", ""), ("é", "string", "\n"), ("i", "int64", -(2**63)),
        ("max", "int64", 2**63 - 1), ("f", "float64", 1.5), ("inf", "float64", float("-inf")),
        ("t", "bool", True), ("n", "bool", False), ("y", "bytes", b"\x00\xff"), ("y0", "bytes", b""),
        ("ls", "array of string", ["", "a"]), ("li", "array of int64", [1, -2]),
        ("lf", "array of float64", [0.5, -0.0]), ("lb", "array of bool", [True, False]),
        ("ly", "array of bytes", [b"", b"a"]),
    ]  # fmt: skip
    path = tmp_path / "x.hrry"
    save(path, {"w": ALL[0].tensor}, {key: value for key, _, value in pairs})
    ours.verify(path)
    assert ours.key_values(path) == pairs


def test_names_are_any_text(ours, tmp_path):
    names = ["é", "a/b", "..", " ", "n" * 65535, "\N{RIGHT-TO-LEFT OVERRIDE}x", "-", "--help"]
    path = tmp_path / "x.hrry"
    save(path, {name: ALL[0].tensor for name in names})
    ours.verify(path)
    assert ours.names(path) == names


def tensor(*shape, **more):
    return hurray.Tensor(floats(int(np.prod(shape))), float32, list(shape), **more)


def shard(parent, *offset):
    return hurray.Shard(parent, list(offset))


def partition():
    rows = [tensor(2, 4, shard=shard([4, 4], at, 0)) for at in (0, 2)]
    return hurray.Composite("partition", shape=[4, 4], dtype=float32, members=rows)


def overlay(combine):
    fix = hurray.Tensor(
        floats(1), float32, [4, 4], aux_buffers=[u64(1, 2)], layout=hurray.CooLayout(1, True),
        shard=shard([4, 4], 0, 0),
    )  # fmt: skip
    base = hurray.Tensor(
        packed("int8", 16), int8, [4, 4], quantization=hurray.PerTensorAffine(0.5, 0),
        shard=shard([4, 4], 0, 0),
    )  # fmt: skip
    return hurray.Composite(
        "overlay", shape=[4, 4], dtype=float32, members=[base, fix], combine_op=combine
    )


def group(*members):
    return hurray.Composite("group", shape=[1], dtype=float32, members=list(members))


def nested(heads):
    item = tensor(1)
    for _ in range(heads):
        item = group(item)
    return item


COMPOSITES = {
    "partition": (partition(), [(11, 1), 1, 1]),
    "replace": (overlay("replace"), [(11, 2), 1, 6]),
    "add": (overlay("add"), [(11, 2), 1, 6]),
    "group": (group(tensor(2), tensor(3)), [(11, 3), 1, 1]),
    "empty group": (group(), [(11, 3)]),
    "nested": (group(partition(), group(tensor(1))), [(11, 3), (11, 1), 1, 1, (11, 3), 1]),
    "eight heads": (nested(8), [(11, 3)] * 8 + [1]),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites(ours, tmp_path, name):
    composite, tags = COMPOSITES[name]
    save(tmp_path / "x.hrry", {"before": tensor(1), "c": composite, "after": tensor(1)})
    (tmp_path / "x.hrrys").write_bytes(stream(tensor(1), composite, tensor(1)))
    for path, kind in [(tmp_path / "x.hrry", "file"), (tmp_path / "x.hrrys", "stream")]:
        ours.verify(path, kind)
        seen = ours.descriptors(path, kind)
        assert [
            (d["layout_tag"], d["layout"]["composition_rule"]) if d["layout_tag"] == 11 else d["layout_tag"]
            for d in seen
        ] == [1, *tags, 1]


def sparse(layout, values, *index, shape=(3, 3)):
    return hurray.Tensor(values, float32, list(shape), aux_buffers=list(index), layout=layout)


def quantized(data, shape, scheme, *parameters, dtype=int8):
    return hurray.Tensor(data, dtype, shape, aux_buffers=list(parameters) or None, quantization=scheme)


def on(kind, memory_class):
    return tensor(4, device=hurray.Device(kind, 0, memory_class))


h = hurray
# What the peer writes and we refuse: (tensor, the rule named).
REFUSED = {
    "column-major scalar": (
        lambda: hurray.Tensor(floats(1), float32, [], layout=h.ColMajorLayout()), "descriptor.scalar-layout",
    ),
    "reach past the end": (lambda: tensor(2, 3, layout=h.StridedLayout([4, 1])), "layout.buffer-too-small"),
    "reach before the start": (
        lambda: tensor(2, 3, layout=h.StridedLayout([-3, 1])), "layout.element-before-buffer",
    ),
    "tiles cut off": (
        lambda: hurray.Tensor(floats(35), float32, [5, 7], layout=h.TiledLayout([2, 4])),
        "layout.buffer-too-small",
    ),
    "inner tile that does not divide": (
        lambda: tensor(
            8, 8, layout=h.TiledLayout([4, 4], inner_layout="tiled", inner_tiled=h.TiledLayout([3, 2]))
        ),
        "layout.tiled.nested-not-dividing",
    ),
    "morton cut off": (
        lambda: hurray.Tensor(floats(12), float32, [3, 4], layout=h.MortonLayout([2, 2])),
        "layout.buffer-too-small",
    ),
    "coo out of bounds": (lambda: sparse(h.CooLayout(1, True), floats(1), u64(9, 2)), "sparse.coo.out-of-bounds"),
    "coo not sorted": (lambda: sparse(h.CooLayout(2, True), floats(2), u64(2, 1, 0, 2)), "sparse.coo.not-sorted"),
    "coo twice": (lambda: sparse(h.CooLayout(2, False), floats(2), u64(2, 1, 2, 1)), "sparse.coo.duplicate"),
    "csr pointers fall": (
        lambda: sparse(h.CsrLayout(2), floats(2), u64(1, 2), u64(0, 2, 1, 2)), "sparse.compressed.pointer-decreases",
    ),
    "csr ends elsewhere": (
        lambda: sparse(h.CsrLayout(2), floats(2), u64(1, 2), u64(0, 1, 1, 1)), "sparse.compressed.pointer-end",
    ),
    "csc column out of bounds": (
        lambda: sparse(h.CscLayout(2), floats(2), u64(1, 7), u64(0, 1, 1, 2)), "sparse.compressed.out-of-bounds",
    ),
    "csf siblings equal": (
        lambda: sparse(
            h.CsfLayout(2, [0, 1, 2]), floats(2), u64(0, 1), u64(1), u64(0, 2), u64(1, 1), u64(0, 1, 2),
            u64(3, 1), shape=(2, 3, 4),
        ),
        "sparse.csf.not-increasing",
    ),
    "page that is not there": (
        lambda: hurray.Tensor(
            floats(24), float32, [5, 1, 4], aux_buffers=[u32(0, 9, 1), u32(0, 2, 3)],
            layout=h.BlockPagedLayout(2, 3, 0, 2),
        ),
        "sparse.block-paged.page-id",
    ),
    "shard beyond its parent": (lambda: tensor(2, 2, shard=shard([4, 4], 3, 2)), "shard.out-of-bounds"),
    "statistics of another nnz": (
        lambda: hurray.Tensor(
            floats(1), float32, [3, 3], aux_buffers=[u64(1, 2)], layout=h.CooLayout(1, True),
            statistics=h.Statistics(nnz=3),
        ),
        "stats.nnz-mismatch",
    ),
    "zero point out of range": (
        lambda: quantized(bytes(4), [4], h.PerTensorAffine(0.5, 300)), "quant.per-tensor.zero-point-range",
    ),
    "quantized floats": (
        lambda: quantized(floats(4), [4], h.PerTensorAffine(0.5, 3), dtype=float32),
        "quant.per-tensor.storage-type",
    ),
    "scales of another count": (
        lambda: quantized(bytes(6), [2, 3], h.PerChannelAffine.symmetric(1, 1), f32(1, 2)),
        "quant.per-channel.scale-size",
    ),
    "axis that is not there": (
        lambda: quantized(bytes(4), [4], h.PerChannelAffine.symmetric(3, 1), f32(1, 2, 3, 4)),
        "quant.per-channel.axis",
    ),
    "block beyond its axis": (
        lambda: quantized(bytes(4), [4], h.PerBlockAffine.symmetric(0, 64, 1, float32), f32(1)),
        "quant.per-block.block-size-exceeds-axis",
    ),
    "mxfp with a partial block": (
        lambda: quantized(bytes(40), [40], h.MXFP(0, 32, 1), bytes([127, 127])),
        "quant.mxfp.axis-not-multiple",
    ),
    "a buffer too many": (
        lambda: quantized(bytes(4), [4], h.PerTensorAffine(0.5, 3), i32(1)), "quant.buffer-count",
    ),
    "peer memory of a processor": (lambda: on("cpu", "peer"), "buffer.device-class-pair"),
    "pinned memory of a browser": (lambda: on("webgpu", "host_pinned"), "buffer.device-class-pair"),
    "nine heads": (lambda: nested(9), "composite.too-deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_what_breaks_a_rule_is_refused_by_it(ours, tmp_path, name, kind):
    make, rule = REFUSED[name]
    path = tmp_path / "x"
    if kind == "file":
        save(path, {"x": make()})
    else:
        path.write_bytes(stream(make()))
    assert ours.refuse(path, kind) == rule


PRIVATE = {
    "layout": lambda: tensor(3, layout=h.PrivateExtensionLayout(0xF3, 77, b"abc")),
    "type": lambda: hurray.Tensor(
        bytes(12), h.Dtype.from_tag(0xF2), [4], extension_type=h.ExtensionType(bit_width=24, is_signed=True)
    ),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_private_features_are_refused_when_nobody_agreed_on_them(ours, tmp_path, name):
    save(tmp_path / "x.hrry", {"x": PRIVATE[name]()})
    assert ours.refuse(tmp_path / "x.hrry") == f"{name}.private-tag"


def test_memory_of_other_devices_is_described(ours, tmp_path):
    classes = {
        "cuda": 4, "rocm": 4, "metal": 3, "vulkan": 4, "webgpu": 1, "hexagon": 3, "level_zero": 4, "opencl": 3,
    }  # fmt: skip
    order = ["standard", "host_pinned", "unified", "peer"]
    pairs = [(kind, c) for kind, count in classes.items() for c in order[:count]]
    path = tmp_path / "x.hrry"
    save(path, {f"{kind} {c}": on(kind, c) for kind, c in pairs})
    ours.verify(path)
    tags = [d["buffers"][0] for d in ours.descriptors(path)]
    assert [(t["device_tag"], t["memory_class"]) for t in tags] == [
        (list(classes).index(kind) + 1, order.index(c)) for kind, c in pairs
    ]


def test_what_the_peer_stores_wrongly_cannot_be_seen_in_the_bytes(ours, tmp_path):
    """A byte per bool under the packed type, and big-endian numbers: valid files of other values."""
    path = tmp_path / "x.hrry"
    save(
        path,
        {
            "mask": hurray.from_numpy(np.array([True, False, True])),
            "big": hurray.from_numpy(np.array([1, 2], ">i4")),
        },
    )
    ours.verify(path)
    assert ours.cat(path, "mask") == b"\x01\x00\x01"  # as the format reads it: True, False, False
    assert ours.cat(path, "big") == bytes.fromhex("00000001 00000002")
