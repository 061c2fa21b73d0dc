"""The vectors through the peer: what is valid is read alike; what is invalid, by the table of differences."""

import hashlib
import struct
from collections import Counter

import hurray
import peer
import pytest
from conftest import VECTORS, lines, same
from differences import DESCRIPTORS, FILES, REENCODED, REFUSED
from peer import buffers_of, bytes_of, load, load_kv

DESCRIPTOR_LINES = lines("descriptors.jsonl")
FILE_LINES = lines("files.jsonl")
ORDERS = {"row_major": 1, "col_major": 2, "strided": 3, "tiled": 4}


def decode(line):
    return hurray.Descriptor.decode(bytes.fromhex(line["hex"]))


@pytest.mark.parametrize("line", [d for d in DESCRIPTOR_LINES if d["valid"]], ids=lambda d: d["name"])
def test_a_valid_descriptor_is_read_alike(line):
    if line["name"] in REFUSED:
        with pytest.raises(hurray.InvalidDescriptorError):
            decode(line)
        return
    descriptor = decode(line)
    assert same(seen(descriptor, line), line["expected"])
    if line.get("reencodes", True):
        again = descriptor.encode() == bytes.fromhex(line["hex"])
        assert again is (line["name"] not in REENCODED)


def test_invalid_descriptors_are_decoded_exactly_where_the_table_says():
    decoded, refused_later = Counter(), Counter()
    for line in DESCRIPTOR_LINES:
        if line["valid"]:
            continue
        try:
            descriptor = decode(line)
        except hurray.InvalidDescriptorError:
            continue
        decoded[line["rule"]] += 1
        try:
            descriptor.quantization
        except hurray.InvalidDescriptorError:
            refused_later[line["rule"]] += 1
    found = {rule: (n, refused_later[rule]) for rule, n in decoded.items()}
    assert found == {rule: (n, later) for rule, (n, later, _) in DESCRIPTORS.items()}


@pytest.mark.parametrize("line", [f for f in FILE_LINES if f["valid"]], ids=lambda f: f["name"])
def test_a_valid_file_is_read_alike(line):
    path = VECTORS / line["file"]
    members = {name for composite in line["composites"] for name in composite["members"]}
    loaded = load(path)
    assert list(loaded) == [t["name"] for t in line["tensors"] if t["name"] not in members]
    for expected in line["tensors"]:
        tensor = loaded.get(expected["name"]) or load(path, names=[expected["name"]])[expected["name"]]
        assert [str(size) for size in tensor.shape] == expected["shape"]
        if isinstance(tensor, hurray.Composite):
            continue
        assert [
            {"length": len(buffer), "sha256": hashlib.sha256(buffer).hexdigest()}
            for buffer in buffers_of(tensor)
        ] == [{"length": b["length"], "sha256": b["sha256"]} for b in expected["buffers"]]
    for composite in line["composites"]:
        head = loaded.get(composite["head"]) or load(path, names=[composite["head"]])[composite["head"]]
        assert head.member_count == len(composite["members"])
    assert_key_values(load_kv(path), line["kv"] or [])


def test_invalid_files_are_read_exactly_where_the_table_says():
    invalid = {str(VECTORS / f["file"]): f for f in FILE_LINES if not f["valid"]}
    found = {}
    for path, outcome in peer.attempts(invalid).items():
        line = invalid[path]
        if outcome != "refused":
            found[line["name"]] = (outcome, line["rule"])
    assert found == {name: (outcome, rule) for name, (outcome, rule, _) in FILES.items()}


def assert_key_values(found, expected):
    assert list(found) == [pair["key"] for pair in expected]
    for pair in expected:
        value = found[pair["key"]]
        if pair["kind"] == "array":
            element = pair["value"]["element"]
            assert [text(element, v) for v in value] == pair["value"]["values"]
        else:
            assert text(pair["kind"], value) == pair["value"]


def text(kind, value):
    """A key-value as the vectors spell it."""
    if kind == "float64":
        return struct.pack(">d", value).hex()
    if kind == "bytes":
        return value.hex()
    return str(value) if kind in ("int64", "uint64") else value


def seen(descriptor, line):
    """The peer's descriptor by the keys of the vectors; what it does not show is taken as expected."""
    expected = line["expected"]
    out = {
        "version_major": descriptor.version[0],
        "version_minor": descriptor.version[1],
        "type_tag": descriptor.dtype.tag,
        "layout_tag": descriptor.layout.tag,
        "shape": [2**64 - 1 if size is None else size for size in descriptor.shape],
        "byte_offset": descriptor.byte_offset,
        "layout": layout_fields(descriptor.layout),
        "buffers": [
            {
                "byte_size": handle.byte_size,
                "alignment": handle.alignment,
                "device_tag": handle.device.tag,
                "sync_mode": ["producer_synced", "event", "consumer_stream"].index(handle.sync_mode),
                "memory_class": handle.device.memory_class_tag,
            }
            for handle in descriptor.buffer_handles
        ],
    }
    if descriptor.shard:
        out["shard"] = {
            "parent_shape": list(descriptor.shard.parent_shape),
            "shard_offset": list(descriptor.shard.shard_offset),
        }
    if descriptor.statistics:
        out["statistics"] = statistics_fields(descriptor.statistics, expected["statistics"])
    if descriptor.extension_type:
        out["extension_type"] = {
            key: getattr(descriptor.extension_type, key) for key in expected["extension_type"]
        }
    if "quantization" in expected:
        out["quantization"] = quantization_fields(descriptor, expected["quantization"])
    if "composite_member" in expected:
        # A role is shown by the composite alone, never by a descriptor of its own.
        out["composite_member"] = expected["composite_member"]
    return out


def layout_fields(layout):
    if isinstance(layout, hurray.TiledLayout):
        fields = {
            "tile_shape": list(layout.tile_shape),
            "outer_layout": ORDERS[layout.outer_layout],
            "inner_layout": ORDERS[layout.inner_layout],
        }
        for key in ("outer_strides", "inner_strides"):
            if getattr(layout, key) is not None:
                fields[key] = list(getattr(layout, key))
        if layout.inner_tiled:
            fields["inner"] = layout_fields(layout.inner_tiled)
        return fields
    if isinstance(layout, hurray.BlockPagedLayout):
        none = layout.layer_index is None
        return {
            **{key: getattr(layout, key) for key in ("page_size", "num_pages", "paged_axis", "num_seqs")},
            "kv_role": ["key", "value", "fused"].index(layout.kv_role),
            "layer_index": 2**32 - 1 if none else layout.layer_index,
            "block_table_index_type": ["uint32", "uint64"].index(layout.block_table_index_type),
        }
    if isinstance(layout, hurray.CompositeLayout):
        return {
            "composition_rule": ["partition", "overlay", "group"].index(layout.composition_rule) + 1,
            "combine_op": [None, "replace", "add"].index(layout.combine_op),
            "member_count": layout.member_count,
        }
    if isinstance(layout, hurray.PrivateExtensionLayout):
        return {
            "extension_layout_id": layout.extension_layout_id,
            "extension_data": (layout.extension_data or b"").hex(),
        }
    keys = ("strides", "morton_bits", "nnz", "is_sorted", "mode_order", "hilbert_order", "hilbert_rank")
    fields = {key: getattr(layout, key) for key in keys if hasattr(layout, key)}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in fields.items()}


def statistics_fields(statistics, expected):
    """The fields whose mask bit is set; the peer shows no others."""
    names = [
        ["nnz"], ["sparsity_ratio"], ["value_min", "value_max", "value_abs_max"],
        ["value_mean", "value_stddev"], ["nm_n", "nm_m"], ["has_nan", "has_inf"],
    ]  # fmt: skip
    out = dict(expected, computed_mask=statistics.computed_mask)
    for bit, group in enumerate(names):
        for name in group if statistics.computed_mask >> bit & 1 else []:
            value = getattr(statistics, name)
            if f"{name}_bits" in expected:
                out[f"{name}_bits"] = struct.unpack("<Q", struct.pack("<d", value))[0]
            else:
                out[name] = value
    return out


def quantization_fields(descriptor, expected):
    if expected["scheme_tag"] >= 0xF0:
        # A private scheme's descriptor is decoded; its payload is not shown.
        with pytest.raises(hurray.InvalidDescriptorError):
            descriptor.quantization
        return expected
    scheme = descriptor.quantization
    out = dict(expected, scheme_tag=scheme.encode()[0])
    for key in ("axis", "block_size", "scale_buffer_index", "zero_point"):
        if key in expected:
            out[key] = getattr(scheme, key)
    if "zero_point_buffer_index" in expected:
        index = scheme.zero_point_buffer_index
        out["zero_point_buffer_index"] = 2**32 - 1 if index is None else index
    if "scale_bits" in expected:
        out["scale_bits"] = struct.unpack("<I", struct.pack("<f", scheme.scale))[0]
    if hasattr(scheme, "scale_type"):
        out["scale_type_tag"] = scheme.scale_type.tag
    return out
