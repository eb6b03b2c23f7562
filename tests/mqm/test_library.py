"""The C library under AddressSanitizer and UBSan, against a server that answers well or nonsense."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from igq.errors import CommandError
from igq.mqm import library
from igq.mqm.headers import CALLS
from igq.mqm.wheel import build_wheel
from sharedq.mqi.constants import MQRC
from tests.mqm.fake_server import FakeServer
from tests.support.scenes import until

Compile = Callable[[str], Path]


@contextmanager
def _server(folder: Path, kind: str, seed: int = 1) -> Iterator[dict[str, str]]:
    """The environment of a program that connects to a fake server."""
    server = FakeServer(folder / "s", kind, seed)
    try:
        yield {**os.environ, "IGQ_SOCKET": str(folder / "s")}
    finally:
        server.close()


@pytest.mark.parametrize("kind", ["noise", "cut", "bent", "bytes"])
def test_nonsense_of_a_server_ends_calls_and_harms_nothing(kind: str, compiled: Compile, tmp_path: Path) -> None:
    program = compiled("every_call")
    with _server(tmp_path, kind) as env:
        done = subprocess.run([str(program), "15"], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    broken, other = map(int, done.stdout.split())
    assert broken > 100
    assert other > 20


@pytest.mark.share
def test_the_library_refuses_nulls_other_threads_and_forks(compiled: Compile, tmp_path: Path) -> None:
    program = compiled("rules")
    with _server(tmp_path, "plain") as env:
        done = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_puts_of_a_unit_go_out_with_what_follows(compiled: Compile, tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "s", "plain", 1)
    connx, disc, opened, commit, put = 1, 2, 3, 11, 36
    steps = [
        ("unit", [connx, opened]),
        ("commit", [*[put] * 10, commit]),
        # The long one does not fit what is kept, so those before it go.
        ("long", [put, put]),
        ("outside", [put, put]),
        ("end", [*[put] * 1000, disc]),
    ]
    expected = list[int]()
    program = subprocess.Popen(
        [str(compiled("later"))],
        env={**os.environ, "IGQ_SOCKET": str(tmp_path / "s")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stdin is not None
        assert program.stdout is not None
        for name, more in steps:
            assert program.stdout.readline() == f"{name}\n"
            expected += more
            until(partial(_have_come, server, len(expected)), name)
            assert server.verbs == expected
            program.stdin.write("\n")
            program.stdin.flush()
    server.close()
    assert program.returncode == 0


def _have_come(server: FakeServer, count: int) -> bool:
    return len(server.verbs) >= count


def test_a_connection_list_goes_on_after_a_foreign_server(gcc: str, tmp_path: Path) -> None:
    library.build(tmp_path, compiler=gcc, flags=("-DGREETING_S=1",))
    silent, foreign = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    right = FakeServer(tmp_path / "s", "plain", 1, is_tcp=True)

    def talk() -> None:
        with foreign.accept()[0] as client:
            client.sendall(b"HTTP/1.1 400 Bad Request")
            client.recv(100)

    talking = threading.Thread(target=talk)
    talking.start()
    program = (
        "import ctypes, sys; mqm = ctypes.CDLL(sys.argv[1]); cc, rc, h = (ctypes.c_int() for _ in range(3));"
        "mqm.MQCONN(b'QM1'.ljust(48), *map(ctypes.byref, (h, cc, rc))); print(rc.value)"
    )
    for servers, reason in (((silent, foreign, right), 0), ((silent,), MQRC.HOST_NOT_AVAILABLE)):
        names = ",".join(f"127.0.0.1({server.getsockname()[1]})" for server in servers)
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "lib64" / "libmqm_r.so")],
            env={**os.environ, "MQSERVER": f"C/TCP/{names}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.stdout, done.stderr) == (f"{int(reason)}\n", "")
    talking.join()
    right.close()
    silent.close()
    foreign.close()


def test_without_a_server_a_connection_is_refused_with_a_reason(compiled: Compile, tmp_path: Path) -> None:
    program = compiled("every_call")
    env = {**os.environ, "IGQ_SOCKET": str(tmp_path / "none")}
    done = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "0 4\n")


def test_the_libraries_export_the_entry_points_and_nothing_else(built: Path) -> None:
    for name in library.LIBRARIES:
        command = ["nm", "-D", "--defined-only", str(built / "lib64" / name)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        assert {line.split()[2] for line in told.splitlines()} == set(CALLS)
    assert len(CALLS) == 26


def test_a_wheel_brings_the_library_and_says_where_it_is(gcc: str, tmp_path: Path) -> None:
    made = build_wheel(tmp_path / "dist", compiler=gcc)
    place = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place)]
    subprocess.run([*pip, str(made)], check=True, timeout=120)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place)}
    said = subprocess.run(
        [sys.executable, "-m", "igq_mqm"], env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said == f"{place / 'igq_mqm' / 'lib64'}\n"
    for name in library.LIBRARIES:
        ctypes.CDLL(str(Path(said.strip()) / name))
    assert (place / "igq_mqm" / "inc" / "cmqc.h").exists()
    assert build_wheel(tmp_path / "again", compiler=gcc).read_bytes() == made.read_bytes()


def test_a_missing_compiler_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no-such-gcc is not installed"):
        library.build(tmp_path, compiler="no-such-gcc")
