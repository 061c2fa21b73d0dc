"""The main job on real models and on every type: safetensors to Hurray and back, nothing lost."""

import json
import pathlib

import ml_dtypes
import numpy
import pytest
from safetensors import TensorSpec, deserialize, safe_open, serialize_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = [
    ROOT / "samples/all-minilm-l6-v2.sample.safetensors",
    ROOT / "target/models/all-minilm-l6-v2.safetensors",
    ROOT / "target/models/l2-supercat-256.safetensors",
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_model_survives_the_way_there_and_back(hurray, model, tmp_path):
    there_and_back(hurray, model, tmp_path)


# Each by the name the safetensors package gives it. That package writes no six-bit floats; those are
# tested in Rust.
TYPES = {
    "bool": numpy.bool_,
    "int8": numpy.int8,
    "uint8": numpy.uint8,
    "int16": numpy.int16,
    "uint16": numpy.uint16,
    "int32": numpy.int32,
    "uint32": numpy.uint32,
    "int64": numpy.int64,
    "uint64": numpy.uint64,
    "float16": numpy.float16,
    "float32": numpy.float32,
    "float64": numpy.float64,
    "complex64": numpy.complex64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
}
SHAPES = {"vector": [7], "matrix": [3, 5], "scalar": [], "empty": [2, 0]}


def test_every_type_and_the_odd_shapes_survive(hurray, tmp_path):
    arrays = {}
    for name, dtype in TYPES.items():
        for label, shape in SHAPES.items():
            values = numpy.arange(1, 1 + numpy.prod(shape, dtype=int)).reshape(shape)
            arrays[f"{name}.{label}"] = name, values.astype(dtype)
    # Two four-bit floats to a byte; the package counts bytes here and elements in the file.
    arrays["float4"] = "float4_e2m1fn_x2", numpy.arange(0x10, 0x70, 0x10, dtype=numpy.uint8).reshape(3, 2)
    file = tmp_path / "types.safetensors"
    tensors = {name: specified(dtype, array) for name, (dtype, array) in arrays.items()}
    serialize_file(tensors, file, {"note": "every type", "empty": ""})
    there_and_back(hurray, file, tmp_path)


def specified(dtype, array):
    return TensorSpec(dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)


def there_and_back(hurray, model, folder):
    hrry, back = folder / "model.hrry", folder / "back.safetensors"
    hurray("convert", model, hrry)
    hurray("verify", hrry)
    hurray("convert", hrry, back)
    assert contents(back) == contents(model)


def contents(file):
    """Everything a safetensors file says, whatever the order it says it in."""
    with safe_open(file, "numpy") as opened:
        metadata = opened.metadata()
    return metadata, dict(deserialize(file.read_bytes()))


def test_one_flipped_bit_of_data_is_found(hurray, tmp_path):
    hrry = tmp_path / "model.hrry"
    hurray("convert", MODELS[0], hrry)
    damaged = bytearray(hrry.read_bytes())
    # The middle of the file lies inside the largest tensors.
    damaged[len(damaged) // 2] ^= 1
    hrry.write_bytes(damaged)
    (line,) = hurray("verify", "--json", hrry, code=1).stdout.splitlines()
    assert json.loads(line)["ok"] is False


@pytest.mark.parametrize(
    "start",
    [b"<!DOCTYPE html><html>", b"version https://git-lfs.github.com/spec/v1\n", b"PK\x03\x04", b"\x80\x02}q\x00.", b""],
    ids=["html", "lfs-pointer", "zip", "pickle", "nothing"],
)
def test_another_kind_of_file_is_refused_and_leaves_nothing(hurray, start, tmp_path):
    file, out = tmp_path / "model.safetensors", tmp_path / "out"
    file.write_bytes(start + bytes(100 if start else 0))
    out.mkdir()
    answer = hurray("convert", file, out / "model.hrry", code=1)
    assert answer.stderr.strip()
    assert list(out.iterdir()) == []
