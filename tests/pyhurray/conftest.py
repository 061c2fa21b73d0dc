"""Our side of the exchange: the `hurray` command, named by HURRAY_BIN.

Everything the tests ask of the command goes through `Command`, so the shape of
its JSON is known here and nowhere else.
"""

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


class Command:
    """One method per subcommand. Each fails the test when the exit code is not the expected one."""

    def __init__(self, path):
        self.path = path

    def run(self, *args, code=0):
        done = subprocess.run(
            [self.path, *map(str, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=300
        )
        assert done.returncode == code, (
            f"hurray {' '.join(map(str, args))}: exit {done.returncode}, expected {code}\n"
            f"{done.stdout[-2000:].decode(errors='replace')}{done.stderr.decode(errors='replace')}"
        )
        return done

    def verify(self, path, kind="file"):
        """Passes when the input is found intact."""
        (line,) = self.verdicts(path, kind=kind)
        assert line["ok"] is True
        return line

    def refuse(self, path, kind="file"):
        """The rule by which `verify` refuses the input."""
        (line,) = self.verdicts(path, kind=kind, code=1)
        assert line["ok"] is False
        return line["rule"]

    def verdicts(self, *paths, kind, code=0):
        done = self.run("verify", "--json", *self.kind(kind), *paths, code=code)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    @staticmethod
    def kind(kind):
        # A container is known by its first bytes; a plain stream has to be named.
        return [] if kind == "file" else ["--as", kind]

    def inspect(self, path, kind="file"):
        seen = json.loads(self.run("inspect", "--json", *self.kind(kind), path).stdout)
        assert seen["kind"] == kind
        return seen

    def descriptors(self, path, kind="file"):
        """The wire fields of every tensor, by the keys of the vectors' `expected`, in the file's order."""
        return [tensor["descriptor"] for tensor in self.inspect(path, kind)["tensors"]]

    def key_values(self, path):
        """(key, kind, value) in the file's order; values as Python has them."""
        return [key_value(pair) for pair in self.inspect(path)["kv"]]

    def names(self, path):
        return [tensor["name"] for tensor in self.inspect(path)["tensors"]]

    def cat(self, path, name, buffer=0):
        return self.run("cat", path, name, "--buffer", buffer).stdout

    def convert(self, source, target, code=0):
        return self.run("convert", source, target, code=code)


def key_value(pair):
    """One pair of our JSON: 64-bit integers may be decimal strings, floats and bytes are hexadecimal."""
    kind, value = pair["kind"], pair["value"]
    if kind == "array":
        element = value["element"]
        return pair["key"], f"array of {element}", [python_value(element, v) for v in value["values"]]
    return pair["key"], kind, python_value(kind, value)


def python_value(kind, value):
    if kind in ("int64", "uint64"):
        return int(value)
    if kind == "float64":
        return struct.unpack(">d", bytes.fromhex(value))[0]
    return bytes.fromhex(value) if kind == "bytes" else value


@pytest.fixture(scope="session")
def ours():
    path = os.environ.get("HURRAY_BIN")
    if not path:
        pytest.fail("HURRAY_BIN must name the hurray command", pytrace=False)
    if not Path(path).is_file():
        pytest.fail(f"HURRAY_BIN names no file: {path}", pytrace=False)
    return Command(str(Path(path).resolve()))


def lines(name):
    with open(VECTORS / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def same(found, expected):
    """Whether `found` says what is expected: extra keys are fine, a large integer may be a decimal string."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(same(found.get(k), v) for k, v in expected.items())
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(same, found, expected))
        )
    return found == expected or {type(found), type(expected)} == {int, str} and str(found) == str(expected)
