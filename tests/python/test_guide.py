"""The shell commands of the guides do what the guides say: they all succeed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_command_of_the_guide_succeeds(guide, tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", guide.read_text(), re.DOTALL)
    assert blocks
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


def test_there_are_guides():
    assert GUIDES
