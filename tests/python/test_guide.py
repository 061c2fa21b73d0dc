"""The shell commands of the guides do what the guides say: they all succeed.

Those that install libhurray take a C compiler and a checkout; `cargo xtask test capi` runs them.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def commands_of(guide):
    return re.findall(r"```sh\n(.*?)```", guide.read_text(), re.DOTALL)


PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
GUIDES = [page for page in PAGES if page.stem != "c" and commands_of(page)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_command_of_the_guide_succeeds(guide, tmp_path):
    blocks = commands_of(guide)
    shutil.copy(ROOT / "samples" / "all-minilm-l6-v2.sample.safetensors", tmp_path / "model.safetensors")
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "hurray").symlink_to(Path(os.environ["HURRAY_BIN"]).resolve())
    script = "set -eu\n" + "\n".join(blocks)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_commands():
    assert {"files", "tensors"} <= {guide.stem for guide in GUIDES}
