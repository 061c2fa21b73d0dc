"""What the peer reads of files built by hand that use the freedoms the format leaves a writer."""

import os
import struct

import hurray
import peer
import pytest
import wire
from cases import ALL, floats
from peer import buffers_of, read_stream

TENSORS = [
    (name, hurray.Tensor(data, dtype, shape).descriptor.encode(), [data])
    for name, dtype, shape, data in [
        ("b", hurray.float32, [4], floats(4)),
        ("a", hurray.uint8, [3], b"abc"),
        ("e", hurray.float64, [0, 3], b""),
        ("s", hurray.int16, [], b"\x34\x12"),
    ]
]
KV = wire.write_kv(
    [
        ("k", 1, struct.pack("<I", 1) + b"x"),
        ("u", 3, struct.pack("<Q", 2**64 - 1)),
        ("none", 7, b"\x02" + bytes(4)),
    ]
)
WHOLE = {"k": "x", "u": 2**64 - 1, "none": []}


def load(tmp_path, data):
    (tmp_path / "x.hrry").write_bytes(data)
    return peer.load(tmp_path / "x.hrry")


@pytest.mark.parametrize(
    "freedom",
    [
        {},
        {"kv": KV},
        {"kv": KV, "kv_first": False},
        {"kv": KV, "kv_flag": False},
        {"kv": KV, "gap": 64},
        {"kv": KV, "gap": 8, "kv_first": False},
        {"tail": 4096},
        {"first": 128},
        {"first": 8192},
        {"sort": True},
        {"crc": False},
        {"minor": 3},
        {"alignment": 8192},
        {"alignment": 2 << 20},
    ],
    ids=lambda freedom: " ".join(f"{k}={'…' if k == 'kv' else v}" for k, v in freedom.items()) or "plain",
)
def test_a_file_in_each_permitted_form(tmp_path, freedom):
    loaded = load(tmp_path, wire.write_file(TENSORS, **freedom))
    order = sorted if freedom.get("sort") else list
    assert list(loaded) == order(name for name, _, _ in TENSORS)
    for name, raw, buffers in TENSORS:
        assert loaded[name].descriptor.encode() == raw
        assert buffers_of(loaded[name]) == buffers
    assert peer.load_kv(tmp_path / "x.hrry") == (WHOLE if "kv" in freedom else {})


@pytest.mark.parametrize("head_tail", [8, 4096])
def test_a_head_followed_by_either_padding(tmp_path, head_tail):
    head = hurray.Composite(
        "group", shape=[1], dtype=hurray.float32, members=[hurray.Tensor(b"\0", hurray.uint8, [1])] * 2
    ).descriptor.encode()
    loaded = load(tmp_path, wire.write_file([("g", head, []), *TENSORS], head_tail=head_tail))
    assert list(loaded) == ["g", "e", "s"]
    assert [buffers_of(member) for member in loaded["g"].members] == [[floats(4)], [b"abc"]]


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_every_kind_of_tensor_round_trips(tmp_path, case):
    raw = case.tensor.descriptor.encode()
    from_file = load(tmp_path, wire.write_file([("x", raw, case.buffers)]))["x"]
    (from_stream,) = hurray.StreamReader(raw + b"".join(case.buffers))
    for tensor in (from_file, from_stream):
        assert tensor.descriptor == case.tensor.descriptor
        assert tensor.descriptor.encode() == raw
        assert buffers_of(tensor) == case.buffers


def test_a_stream_through_a_pipe_and_a_path(tmp_path):
    data = b"".join(raw + b"".join(buffers) for _, raw, buffers in TENSORS)
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    (tmp_path / "x.hrrys").write_bytes(data)
    with os.fdopen(read, "rb") as pipe:
        for source in (pipe, str(tmp_path / "x.hrrys"), data):
            found = [tensor.descriptor.encode() for tensor in hurray.StreamReader(source)]
            assert found == [raw for _, raw, _ in TENSORS]


def test_a_stream_cut_between_tensors_ends_and_cut_inside_fails():
    _, raw, (buffer,) = TENSORS[0]
    one = raw + buffer
    assert len(read_stream(one + one)) == 2
    assert len(read_stream(b"")) == 0
    for cut in range(1, len(one)):
        with pytest.raises(hurray.StreamError):
            read_stream(one + one[:cut])


def test_fault_a_buffer_size_is_allocated_before_the_bytes_are_there(tmp_path):
    _, raw, (buffer,) = TENSORS[0]
    claim = bytearray(raw)
    claim[37:45] = struct.pack("<Q", 1 << 36)
    path = tmp_path / "x.hrrys"
    path.write_bytes(bytes(claim) + buffer)
    assert peer.attempts([path]) == {str(path): "died"}
