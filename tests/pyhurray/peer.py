"""The peer's side of the exchange: its own calls, as the tests use them."""

import json
import subprocess
import sys
from pathlib import Path

import hurray
import numpy as np


def save(path, tensors, kv=None):
    hurray.save(str(path), tensors, kv=kv)


def load(path, names=None):
    return hurray.load(str(path), names=names)


def load_kv(path):
    return hurray.load_kv(str(path))


def stream(*items):
    """The plain stream of tensors and composites."""
    with hurray.StreamWriter() as writer:
        for item in items:
            if isinstance(item, hurray.Composite):
                writer.write_composite(item)
            else:
                writer.write(item)
    return writer.getvalue()


def read_stream(source):
    return list(hurray.StreamReader(source if isinstance(source, bytes) else str(source)))


def bytes_of(tensor, buffer=0):
    """The bytes of one buffer."""
    return np.asarray(tensor.buffer(buffer)).tobytes()


def buffers_of(tensor):
    return [bytes_of(tensor, i) for i in range(tensor.buffer_count)]


def address_of(tensor):
    return np.asarray(tensor.buffer(0)).__array_interface__["data"][0]


def attempts(paths):
    """What becomes of reading each path in a process of its own: "read", "refused" or "died"."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("attempt.py"), *map(str, paths)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["path"] for answer in answers] == [str(path) for path in paths]
    return {answer["path"]: answer["outcome"] for answer in answers}
