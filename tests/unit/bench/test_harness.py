"""The benchmark's statement about itself: the client and the server have their own cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

_LOOK = """
import json, os, subprocess, sys
from bench.harness import pin_client, pin_server, unpin

pin_client()
# As a line starts its server: by a process that is pinned already.
server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
pin_server(server.pid)
found = [sorted(os.sched_getaffinity(pid)) for pid in (0, server.pid)]
unpin()
unpin(server.pid)
found += [sorted(os.sched_getaffinity(pid)) for pid in (0, server.pid)]
server.communicate(b"")
print(json.dumps(found))
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is one core, or no pinning"
)
def test_the_server_has_its_own_core_even_if_a_pinned_client_starts_it() -> None:
    cores = sorted(os.sched_getaffinity(0))
    told = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, text=True, check=True, timeout=60)
    client, server, *unpinned = json.loads(told.stdout)
    assert server == cores[-1:]
    assert client == cores[:-1]
    assert unpinned == [cores, cores]
