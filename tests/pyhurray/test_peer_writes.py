"""What the peer writes, judged by the bytes alone: the format kept, and where it is not.

A test named `fault` states a fault of the peer, so that a version without it is noticed.
"""

import hurray
import numpy as np
import pytest
import wire
from cases import ALL, TYPES, floats, u64
from peer import address_of, buffers_of, bytes_of, load, load_kv, read_stream, save, stream

float32 = hurray.float32


def tensor(*shape, **more):
    return hurray.Tensor(floats(int(np.prod(shape))), float32, list(shape), **more)


def group(*members):
    return hurray.Composite("group", shape=[1], dtype=float32, members=list(members))


def written(tmp_path, tensors, kv=None):
    save(tmp_path / "x.hrry", tensors, kv=kv)
    return wire.file((tmp_path / "x.hrry").read_bytes())


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_a_stream_is_descriptor_then_buffers_and_nothing_else(case):
    encoded = case.tensor.descriptor.encode()
    assert stream(case.tensor) == encoded + b"".join(case.buffers)
    ((one, buffers),) = wire.stream(stream(case.tensor))
    assert (one.type_tag, one.layout_tag) == (case.expected["type_tag"], case.expected["layout_tag"])
    assert list(one.shape) == case.expected["shape"]
    assert one.handles == [tuple(h.values()) for h in case.expected["buffers"]]
    assert buffers == case.buffers


def test_every_type_of_the_format_has_its_name_and_size_here():
    assert set(hurray.dtype.__all__) == set(TYPES)
    for name, (tag, bits) in TYPES.items():
        dtype = getattr(hurray.dtype, name)
        assert (dtype.tag, dtype.bit_width) == (tag, bits)
        size = -(-7 // 4) * 3 if bits == 6 else -(-7 * bits // 8)
        assert hurray.buffer_size_bytes(dtype, 7) == size


def test_a_file_holds_everything_where_the_format_puts_it(tmp_path):
    file = written(tmp_path, {case.name: case.tensor for case in ALL})
    assert file.flags == 4  # a CRC of the index, unsorted
    assert (file.alignment, file.first_descriptor, file.hint) == (4096, 64, 2**64 - 1)
    assert file.stray == []
    assert [entry.name for entry in file.entries] == [case.name for case in ALL]
    at = 64
    for entry, case in zip(file.entries, ALL):
        assert entry.descriptor_offset == at
        assert entry.buffers == case.buffers
        # Decision 25: the data alignment before every buffer, 8 after the last one.
        assert all(offset % 4096 == 0 for offset, _ in entry.places)
        offset, length = entry.places[-1]
        assert entry.data_length == offset + length - entry.data_offset
        at = wire.round_up(offset + length, 8)
    assert file.index_offset == at


def test_key_values_come_before_the_index_and_the_flag_is_never_set(tmp_path):
    """Decision 27: the trailer is the truth, not the header's flag."""
    pairs = {
        "s": "héllo", "s0": "", "i": -(2**63), "max": 2**63 - 1, "f": 1.5, "t": True, "n": False,
        "y": b"\x00\xff", "y0": b"", "ls": ["", "a"], "li": [1, -2], "lf": [0.5], "lb": [True, False],
        "ly": [b"", b"a"],
    }  # fmt: skip
    file = written(tmp_path, {"w": tensor(4)}, pairs)
    assert file.flags == 4
    assert file.kv_offset < file.index_offset and file.kv_offset % 8 == 0
    assert [(key, value) for key, _, value in file.kv] == list(pairs.items())
    assert [kind for _, kind, _ in file.kv] == [
        "string", "string", "int64", "int64", "float64", "bool", "bool", "bytes", "bytes",
        "array of string", "array of int64", "array of float64", "array of bool", "array of bytes",
    ]  # fmt: skip
    assert load_kv(tmp_path / "x.hrry") == pairs


def test_no_key_values_is_no_section(tmp_path):
    for kv in (None, {}):
        file = written(tmp_path, {"w": tensor(4)}, kv)
        assert (file.flags, file.kv_offset, file.kv_length) == (4, 0, 0)


def test_a_file_of_nothing_is_112_bytes(tmp_path):
    assert written(tmp_path, {}).size == 112


def test_a_composite_is_its_head_then_its_members_named_after_it(tmp_path):
    file = written(tmp_path, {"g": group(group(tensor(2)), tensor(3)), "w": tensor(4)})
    assert [entry.name for entry in file.entries] == ["g", "g.0", "g.0.0", "g.1", "w"]
    tags = [one.layout_tag for one, _ in wire.stream(stream(group(group(tensor(2)), tensor(3))))]
    assert tags == [0x0B, 0x0B, 1, 1]


def test_a_head_is_followed_by_padding_to_the_data_alignment(tmp_path):
    """Decision 26: the format's text asks for 8 only."""
    file = written(tmp_path, {"g": group(tensor(4))})
    head, member = file.entries
    assert (head.descriptor_offset, head.data_offset, head.data_length) == (64, 4096, 0)
    assert member.descriptor_offset == 4096
    assert file.stray == []


def test_a_handle_declares_the_alignment_the_memory_happened_to_have():
    with hurray.aligned_allocator():
        arrays = [np.zeros(1 << 14, np.float32) for _ in range(64)]
    seen = {hurray.from_numpy(a, copy=False).buffer_handles[0].alignment for a in arrays}
    assert min(seen) >= 64 and max(seen) <= 4096


def test_what_it_has_no_way_to_write(tmp_path):
    plain = {"w": tensor(4)}
    for value, error in [
        (2**63, OverflowError),  # its page on key-values names uint64, its writer knows int64 alone
        ([], hurray.FileError),  # decision 29: an empty array is legal
        ((1, 2), hurray.FileError),
        (None, hurray.FileError),
    ]:
        with pytest.raises(error):
            save(tmp_path / "no.hrry", plain, kv={"k": value})
    with pytest.raises(hurray.BufferError):  # zero strides: fewer bytes than elements
        hurray.Tensor(floats(3), float32, [2, 3], layout=hurray.StridedLayout([0, 1]))
    with pytest.raises(hurray.FileError):
        save(tmp_path / "no.hrry", {"g": group(tensor(1)), "g.0": tensor(1)})
    # byte_offset is not a parameter: what it builds starts at byte 0, so no negative stride is valid.
    assert hurray.Tensor(floats(4), float32, [4]).descriptor.byte_offset == 0


def test_fault_a_numpy_bool_array_is_stored_a_byte_each_under_the_packed_type(tmp_path):
    mask = np.array([True, False, True, True, False])
    flat = hurray.from_numpy(mask)
    assert flat.dtype == hurray.bool
    (entry,) = written(tmp_path, {"m": flat}).entries
    assert entry.descriptor.sizes == [5]
    assert entry.buffers == [bytes([1, 0, 1, 1, 0])]  # the format: one byte, 0x0D
    # Its own constructors pack, and so can the caller.
    packed = np.packbits(mask, bitorder="little").tobytes()
    assert bytes_of(hurray.Tensor(packed, hurray.bool, [5])) == b"\x0d"
    assert bytes_of(hurray.full([5], True, dtype=hurray.bool)) == b"\x1f"


def test_fault_a_big_endian_numpy_array_is_stored_unswapped():
    backwards = hurray.from_numpy(np.array([1, 2], ">i8"))
    assert backwards.dtype == hurray.int64
    assert bytes_of(backwards) == bytes.fromhex("0000000000000001 0000000000000002")


def test_fault_a_strided_tensor_reaches_outside_its_buffer():
    for strides in ([40, 1], [-3, 1]):
        wild = hurray.Tensor(floats(6), float32, [2, 3], layout=hurray.StridedLayout(strides))
        view = np.asarray(wild)
        base, size = view.__array_interface__["data"][0], len(bytes_of(wild))
        start = address_of(wild)
        low = base + min(0, strides[0] * 4)
        high = base + max(0, strides[0] * 4) + 3 * 4
        assert low < start or high > start + size  # the view is given out all the same


def test_fault_what_is_loaded_declares_the_writers_alignment(tmp_path):
    """The handle is copied from the file; the memory it was read into need not keep it."""
    raw = bytearray(hurray.Tensor(floats(4), float32, [4]).descriptor.encode())
    raw[37 + 8 : 37 + 12] = (1 << 21).to_bytes(4, "little")
    (tmp_path / "x.hrry").write_bytes(wire.write_file([("w", bytes(raw), [floats(4)])]))
    loaded = [load(tmp_path / "x.hrry")["w"] for _ in range(4)]
    assert all(t.buffer_handles[0].alignment == 1 << 21 for t in loaded)
    assert any(address_of(t) % (1 << 21) for t in loaded)


def test_fault_sparse_contents_are_not_looked_at(tmp_path):
    wrong = hurray.Tensor(
        floats(2), float32, [3, 3], aux_buffers=[u64(9, 9, 0, 0)], layout=hurray.CooLayout(2, True)
    )
    save(tmp_path / "x.hrry", {"w": wrong})
    assert buffers_of(load(tmp_path / "x.hrry")["w"])[1] == u64(9, 9, 0, 0)


def test_fault_its_writer_nests_deeper_than_its_reader_follows(tmp_path):
    def nested(heads):
        item = tensor(1)
        for _ in range(heads):
            item = group(item)
        return item

    assert len(read_stream(stream(nested(64)))) == 1
    with pytest.raises(hurray.StreamError):
        read_stream(stream(nested(65)))
    save(tmp_path / "x.hrry", {"g": nested(65)})
    with pytest.raises(hurray.FileError):
        load(tmp_path / "x.hrry")
