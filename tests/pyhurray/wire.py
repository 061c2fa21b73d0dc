"""The container, the plain stream and the descriptor's frame, read and built by hand.

Written from the format's pages alone, so that what each side wrote can be
judged without asking either. It knows where things lie (offsets, lengths,
buffer sizes, key-values) and nothing of layouts or schemes.
"""

import struct
from dataclasses import dataclass, field

HEADER = 64
TRAILER = 40
HEAD_LAYOUT = 0x0B

KV_KINDS = {1: "string", 2: "int64", 3: "uint64", 4: "float64", 5: "bool", 6: "bytes"}


@dataclass
class Descriptor:
    raw: bytes
    type_tag: int
    layout_tag: int
    shape: tuple
    byte_offset: int
    handles: list  # (byte_size, alignment, device, sync, memory class)

    @property
    def sizes(self):
        return [handle[0] for handle in self.handles]


@dataclass
class Entry:
    name: str
    descriptor: Descriptor
    descriptor_offset: int
    data_offset: int
    data_length: int
    places: list  # (offset, length) of each buffer
    buffers: list  # the bytes of each


@dataclass
class File:
    flags: int
    alignment: int
    first_descriptor: int
    hint: int
    entries: list
    kv: list  # (key, kind, value); kind "array of …" for arrays
    index_offset: int
    index_crc: int
    kv_offset: int
    kv_length: int
    size: int
    stray: list = field(default_factory=list)  # offsets of bytes that should be zero


def descriptor(data, at=0):
    """The frame of the descriptor at `at`: what every layout has."""
    assert data[at : at + 4] == b"HRRY", f"no descriptor at {at}"
    length, flags, type_tag, layout_tag, rank = struct.unpack_from("<IIBBI", data, at + 6)
    raw = bytes(data[at : at + length])
    assert len(raw) == length, "descriptor cut short"
    shape = struct.unpack_from(f"<{rank}Q", raw, 20)
    (byte_offset,) = struct.unpack_from("<Q", raw, 20 + 8 * rank)
    table = 28 + 8 * rank + layout_length(raw, 28 + 8 * rank, layout_tag, rank)
    handles = [
        struct.unpack_from("<QIBBB", raw, table + 1 + 16 * i) for i in range(raw[table])
    ]
    return Descriptor(raw, type_tag, layout_tag, shape, byte_offset, handles)


def layout_length(raw, at, tag, rank):
    """How many bytes of layout fields follow `byte_offset`."""
    if tag == 0x04:
        end = at
        while True:
            outer, inner = raw[end + 8 * rank], raw[end + 8 * rank + 1]
            end += 8 * rank + 4 + 8 * rank * ((outer == 3) + (inner == 3))
            if inner != 4:
                return end - at
    if 0xF0 <= tag <= 0xFE:
        return 12 + struct.unpack_from("<I", raw, at + 8)[0]
    return {
        0x01: 0, 0x02: 0, 0x03: 8 * rank, 0x05: 4 * rank, 0x06: 16, 0x07: 16, 0x08: 16,
        0x09: 16 + 4 * rank, 0x0A: 32, 0x0B: 8, 0x40: 8,
    }[tag]


def stream(data):
    """Every (descriptor, buffers) of a plain stream: bytes end to end, nothing between."""
    items, at = [], 0
    while at < len(data):
        one = descriptor(data, at)
        at += len(one.raw)
        buffers = []
        for size in one.sizes:
            buffers.append(bytes(data[at : at + size]))
            at += size
            assert len(buffers[-1]) == size, "stream cut short"
        items.append((one, buffers))
    return items


def file(data):
    """The container, by the trailer, with every byte accounted for in `stray`."""
    assert data[:8] == b"HRRYFILE" and data[8] == 1
    flags, alignment, first, hint = struct.unpack_from("<IIQQ", data, 12)
    index_offset, index_length, kv_offset, kv_length, crc = struct.unpack_from(
        "<QQQII", data, len(data) - TRAILER
    )
    assert data[-4:] == b"HRRY"
    index = data[index_offset : index_offset + index_length]
    if flags & 4:
        assert crc == crc32c(index), "index CRC"
    used = [(0, 36), (index_offset, index_length), (len(data) - TRAILER, 36), (len(data) - 4, 4)]
    if kv_length:
        used.append((kv_offset, kv_length))
    entries = []
    (count,) = struct.unpack_from("<Q", index, 0)
    at = 8
    for _ in range(count):
        (length,) = struct.unpack_from("<H", index, at)
        name = index[at + 2 : at + 2 + length].decode()
        at += 2 + length
        d_offset, d_length, offset, size, _flags = struct.unpack_from("<QIQQI", index, at)
        at += 32
        one = descriptor(data, d_offset)
        assert len(one.raw) == d_length, f"descriptor_length of {name}"
        used.append((d_offset, d_length))
        places, place = [], offset
        for i, buffer_size in enumerate(one.sizes):
            place = offset if i == 0 else round_up(place, alignment)
            places.append((place, buffer_size))
            used.append((place, buffer_size))
            place += buffer_size
        buffers = [bytes(data[o : o + n]) for o, n in places]
        entries.append(Entry(name, one, d_offset, offset, size, places, buffers))
    assert at == len(index), "bytes left in the index"
    kv = read_kv(data[kv_offset : kv_offset + kv_length]) if kv_length else []
    return File(
        flags, alignment, first, hint, entries, kv, index_offset, crc, kv_offset, kv_length,
        len(data), stray_bytes(data, used),
    )


def stray_bytes(data, used):
    """Offsets of non-zero bytes that belong to nothing."""
    stray, at = [], 0
    for offset, length in sorted(used):
        stray += [i for i in range(at, offset) if data[i]]
        at = max(at, offset + length)
    return stray


def read_kv(data):
    (count,) = struct.unpack_from("<I", data, 0)
    at, out = 4, []
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        key = data[at + 2 : at + 2 + length].decode()
        tag = data[at + 2 + length]
        at += 3 + length
        if tag == 7:
            element, n = data[at], struct.unpack_from("<I", data, at + 1)[0]
            at += 5
            values = []
            for _ in range(n):
                value, at = read_value(data, at, element)
                values.append(value)
            out.append((key, f"array of {KV_KINDS[element]}", values))
        else:
            value, at = read_value(data, at, tag)
            out.append((key, KV_KINDS[tag], value))
    assert at == len(data), "bytes left in the key-values"
    return out


def read_value(data, at, tag):
    if tag in (1, 6):
        (n,) = struct.unpack_from("<I", data, at)
        value = bytes(data[at + 4 : at + 4 + n])
        return (value.decode() if tag == 1 else value), at + 4 + n
    if tag == 5:
        return {0: False, 1: True}[data[at]], at + 1
    return struct.unpack_from({2: "<q", 3: "<Q", 4: "<d"}[tag], data, at)[0], at + 8


def write_kv(pairs):
    """The section for (key, tag, encoded value) triples."""
    out = struct.pack("<I", len(pairs))
    for key, tag, value in pairs:
        out += struct.pack("<H", len(key.encode())) + key.encode() + bytes([tag]) + value
    return out


def write_file(
    tensors, kv=None, *, alignment=4096, kv_first=True, tail=8, head_tail=8, gap=0, first=HEADER,
    sort=False, kv_flag=None, crc=True, minor=0,
):
    """A container of (name, descriptor bytes, buffers), with the freedoms the format leaves.

    `tail` and `head_tail` are the alignment after a tensor's last buffer and after a head, `gap` the zero
    bytes between sections, `kv_first` the order of the two sections, `first` where the tensors start.
    """
    body, index = bytearray(first), []
    for name, raw, buffers in tensors:
        pad(body, 8)
        d_offset = len(body)
        body += raw
        data_offset, end = len(body), len(body)
        for i, buffer in enumerate(buffers):
            pad(body, alignment)
            data_offset = len(body) if i == 0 else data_offset
            body += buffer
            end = len(body)
        pad(body, tail if buffers else head_tail)
        index.append((name.encode(), d_offset, len(raw), data_offset, end - data_offset))
    if sort:
        index.sort()
    kv_flag = bool(kv) if kv_flag is None else kv_flag
    places = {}
    sections = {"index": struct.pack("<Q", len(index)) + b"".join(map(write_entry, index))}
    if kv:
        sections["kv"] = kv
    for section in ("kv", "index") if kv_first else ("index", "kv"):
        if section in sections:
            pad(body, 8)
            body += bytes(gap)
            places[section] = (len(body), len(sections[section]))
            body += sections[section]
    flags = kv_flag | sort << 1 | crc << 2
    body[:36] = b"HRRYFILE" + struct.pack("<BBHIIQQ", 1, minor, 0, flags, alignment, first, len(index))
    body += struct.pack(
        "<QQQIII", *places["index"], *places.get("kv", (0, 0)),
        crc32c(sections["index"]) if crc else 0, 0,
    )
    return bytes(body + b"HRRY")


def write_entry(entry):
    name, d_offset, d_length, offset, length = entry
    return struct.pack("<H", len(name)) + name + struct.pack("<QIQQI", d_offset, d_length, offset, length, 0)


def pad(body, alignment):
    body += bytes(-len(body) % alignment)


def round_up(offset, alignment):
    return offset + -offset % alignment


def crc32c(data):
    """CRC-32C (Castagnoli), bit by bit: the sections here are small."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
