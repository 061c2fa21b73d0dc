"""The sample model is what its page says: real tensors of a real model."""

import pathlib
import subprocess
import sys

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/all-minilm-l6-v2.sample.safetensors"
WHOLE = ROOT / "target/models/all-minilm-l6-v2.safetensors"


def test_is_small_and_says_where_it_is_from():
    assert SAMPLE.stat().st_size < 2_000_000
    with safe_open(SAMPLE, "numpy") as file:
        assert set(file.metadata()) == {"format", "origin", "origin.sha256", "license", "changes"}
        assert len(file.keys()) == 30


def test_every_tensor_is_the_models_or_its_first_rows():
    whole = load_file(WHOLE)
    for name, tensor in load_file(SAMPLE).items():
        original, cut, rows = name.partition(".first_")
        expected = whole[original]
        if cut:
            expected = expected[: int(rows.removesuffix("_rows"))]
            assert len(expected) < len(whole[original])
        assert tensor.dtype == expected.dtype
        numpy.testing.assert_array_equal(tensor, expected)


def test_is_reproduced_byte_for_byte():
    script = ROOT / "samples/make_sample.py"
    subprocess.run([sys.executable, script, WHOLE, "--check"], check=True, stdout=subprocess.DEVNULL)


def test_another_model_is_refused(tmp_path):
    other = tmp_path / "model.safetensors"
    other.write_bytes(WHOLE.read_bytes()[:-1])
    script = ROOT / "samples/make_sample.py"
    answer = subprocess.run([sys.executable, script, other, "--check"], capture_output=True, text=True)
    assert answer.returncode == 1
    assert "holds another model" in answer.stderr
