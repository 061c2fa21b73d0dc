"""Our command writes; pyhurray reads the same values. And round trips through both."""

import struct

import hurray
import numpy as np
import peer
import pytest
import safetensors
import safetensors.numpy
import wire
from cases import ALL, packed
from peer import buffers_of
from test_to_us import COMPOSITES

# safetensors' name of each type it has: ours
SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64",
    "U32": "uint32", "U16": "uint16", "U8": "uint8", "C64": "complex64", "F8_E8M0": "float8_e8m0",
    "F4": "float4_e2m1", "F6_E2M3": "float6_e2m3", "F6_E3M2": "float6_e3m2",
}  # fmt: skip
ARRAYS = {
    "f2": np.linspace(-4, 4, 15, dtype="f2").reshape(3, 5),
    "f4": np.array([[0.0, -0.0, np.inf], [np.nan, 1e-45, 3.5]], "f4"),
    "f8": np.linspace(-1, 1, 7),
    "i1": np.arange(-8, 8, dtype="i1"),
    "u1": np.arange(16, dtype="u1").reshape(2, 2, 4),
    "i2": np.array([-(2**15), 2**15 - 1], "i2"),
    "u2": np.array([0, 2**16 - 1], "u2"),
    "i4": np.array([[-(2**31)]], "i4"),
    "u4": np.array([2**32 - 1], "u4"),
    "i8": np.array([-(2**63), 2**63 - 1], "i8"),
    "u8": np.array([0, 2**64 - 1], "u8"),
    "scalar": np.array(2.5, "f4"),
    "empty": np.zeros((3, 0), "f4"),
    "a/b é": np.arange(3, dtype="f8"),
}
METADATA = {"format": "np", "note": "héllo 世", "empty": ""}


@pytest.fixture
def converted(ours, tmp_path):
    """A file of ours made from safetensors."""
    safetensors.numpy.save_file(ARRAYS, tmp_path / "x.safetensors", METADATA)
    ours.convert(tmp_path / "x.safetensors", tmp_path / "x.hrry")
    return tmp_path / "x.hrry"


def assert_arrays(tensors):
    assert set(tensors) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert tensors[name].shape == array.shape
        found = np.asarray(tensors[name])
        assert found.dtype == array.dtype
        assert found.tobytes() == array.tobytes()


def test_a_file_from_safetensors(converted):
    assert_arrays(peer.load(converted))
    kv = peer.load_kv(converted)
    assert {key: kv[key] for key in METADATA} == METADATA
    # Whatever else we add is under our own prefix.
    assert all(key in METADATA or key.startswith("hurray.") for key in kv)
    for name in ARRAYS:
        assert list(peer.load(converted, names=[name])) == [name]


def test_our_file_keeps_to_the_format(converted):
    file = wire.file(converted.read_bytes())
    assert file.stray == []
    assert file.flags & 4 and bool(file.flags & 1) == bool(file.kv_length)
    assert file.first_descriptor == 64
    for entry in file.entries:
        assert entry.descriptor_offset % 8 == 0
        assert all(offset % file.alignment == 0 for offset, _ in entry.places)


def test_a_plain_stream_from_our_file(ours, converted, tmp_path):
    ours.convert(converted, tmp_path / "x.hrrys")
    entries = wire.file(converted.read_bytes()).entries
    entries.sort(key=lambda entry: entry.descriptor_offset)
    tensors = peer.read_stream(tmp_path / "x.hrrys")
    assert_arrays(dict(zip([entry.name for entry in entries], tensors, strict=True)))


@pytest.mark.parametrize("name", SAFETENSORS)
def test_each_type_of_safetensors(ours, tmp_path, name):
    dtype = SAFETENSORS[name]
    data = packed(dtype, 16)
    write_safetensors(tmp_path / "x.safetensors", name, [4, 4], data)
    ours.convert(tmp_path / "x.safetensors", tmp_path / "x.hrry")
    tensor = peer.load(tmp_path / "x.hrry")["x"]
    assert (tensor.dtype.name, tensor.shape) == (dtype, (4, 4))
    assert peer.bytes_of(tensor) == data


def test_bool_arrives_packed(ours, tmp_path):
    write_safetensors(tmp_path / "x.safetensors", "BOOL", [10], bytes([1, 0, 1, 1, 0, 0, 0, 0, 0, 1]))
    ours.convert(tmp_path / "x.safetensors", tmp_path / "x.hrry")
    tensor = peer.load(tmp_path / "x.hrry")["x"]
    assert (tensor.dtype.name, tensor.shape) == ("bool", (10,))
    assert peer.bytes_of(tensor) == bytes([0x0D, 0x02])


def write_safetensors(path, dtype, shape, data):
    """One tensor named x, by hand: the library's Python side does not know every type by a name of NumPy's."""
    size = ",".join(map(str, shape))
    header = f'{{"x":{{"dtype":"{dtype}","shape":[{size}],"data_offsets":[0,{len(data)}]}}}}'.encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def test_the_peers_stream_through_our_file_and_back(ours, tmp_path):
    """Every kind of tensor: what the peer streamed is what it loads, and what we stream again."""
    (tmp_path / "in.hrrys").write_bytes(peer.stream(*(case.tensor for case in ALL)))
    ours.convert(tmp_path / "in.hrrys", tmp_path / "x.hrry")
    ours.verify(tmp_path / "x.hrry")
    file = wire.file((tmp_path / "x.hrry").read_bytes())
    assert file.stray == []
    loaded = peer.load(tmp_path / "x.hrry")
    entries = sorted(file.entries, key=lambda entry: entry.descriptor_offset)
    for case, entry in zip(ALL, entries, strict=True):
        tensor = loaded[entry.name]
        assert tensor.descriptor == case.tensor.descriptor, case.name
        assert buffers_of(tensor) == case.buffers, case.name
    ours.convert(tmp_path / "x.hrry", tmp_path / "out.hrrys")
    assert (tmp_path / "out.hrrys").read_bytes() == (tmp_path / "in.hrrys").read_bytes()


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_each_kind_through_our_file(ours, tmp_path, case):
    (tmp_path / "in.hrrys").write_bytes(peer.stream(case.tensor))
    ours.convert(tmp_path / "in.hrrys", tmp_path / "x.hrry")
    (tensor,) = peer.load(tmp_path / "x.hrry").values()
    assert tensor.descriptor.encode() == case.tensor.descriptor.encode()
    assert buffers_of(tensor) == case.buffers


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_through_our_file(ours, tmp_path, name):
    composite, _ = COMPOSITES[name]
    (tmp_path / "in.hrrys").write_bytes(peer.stream(composite))
    ours.convert(tmp_path / "in.hrrys", tmp_path / "x.hrry")
    ours.verify(tmp_path / "x.hrry")
    (loaded,) = peer.load(tmp_path / "x.hrry").values()
    assert_composite(loaded, composite)
    ours.convert(tmp_path / "x.hrry", tmp_path / "out.hrrys")
    assert (tmp_path / "out.hrrys").read_bytes() == (tmp_path / "in.hrrys").read_bytes()


def assert_composite(found, expected):
    assert found.descriptor == expected.descriptor
    assert found.member_roles == expected.member_roles
    for member, other in zip(found.members, expected.members, strict=True):
        if isinstance(other, hurray.Composite):
            assert_composite(member, other)
        else:
            assert (member.dtype, member.shape, member.layout) == (other.dtype, other.shape, other.layout)
            assert member.quantization == other.quantization
            assert buffers_of(member) == buffers_of(other)


def test_the_peers_file_to_safetensors(ours, tmp_path):
    tensors = {name: hurray.from_numpy(a) for name, a in ARRAYS.items()}
    pairs = {"s": "x", "i": -3, "t": True, "l": [1, 2]}
    peer.save(tmp_path / "x.hrry", tensors, pairs)
    ours.convert(tmp_path / "x.hrry", tmp_path / "x.safetensors")
    back = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert set(back) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()
    with safetensors.safe_open(tmp_path / "x.safetensors", "np") as file:
        metadata = file.metadata()
    # What is no string goes out as JSON text.
    assert {key: metadata[key] for key in pairs} == {"s": "x", "i": "-3", "t": "true", "l": "[1,2]"}


@pytest.mark.parametrize(
    "case",
    [case for case in ALL if "quantization" in case.expected or case.expected["layout_tag"] in range(6, 11)],
    ids=repr,
)
def test_what_safetensors_has_no_equal_of_is_refused_by_name(ours, tmp_path, case):
    peer.save(tmp_path / "x.hrry", {"the one": case.tensor})
    done = ours.convert(tmp_path / "x.hrry", tmp_path / "x.safetensors", code=1)
    assert b"the one" in done.stderr
    assert not (tmp_path / "x.safetensors").exists()
