"""Reads files and streams (named .hrrys) with the peer, each in a process of its own: some make it abort.

Called with paths; prints one JSON line for each: {"path", "outcome": "read" | "refused" | "died"}.
"""

import json
import os
import resource
import sys

import hurray

READ, REFUSED = 0, 1
# Enough for any of these files; an allocation sized by a hostile count fails at once.
MEMORY = 8 << 30


def attempt(path):
    try:
        if path.endswith(".hrrys"):
            list(hurray.StreamReader(path))
        else:
            hurray.load(path)
            hurray.load_kv(path)
    except (hurray.FileError, hurray.InvalidDescriptorError, hurray.StreamError):
        return REFUSED
    return READ


def outcome(path):
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = 2
        try:
            code = attempt(path)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        return {READ: "read", REFUSED: "refused"}.get(os.WEXITSTATUS(status), "died")
    return "died"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps({"path": path, "outcome": outcome(path)}), flush=True)
