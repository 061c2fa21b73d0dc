"""The `hurray` command, as a fixture."""

import os
import subprocess

import pytest


@pytest.fixture
def hurray():
    """Runs the command named by HURRAY_BIN and fails the test at another exit code than the expected."""

    def run(*arguments, code=0):
        done = subprocess.run(
            [os.environ["HURRAY_BIN"], *map(str, arguments)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, f"exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}"
        return done

    return run
