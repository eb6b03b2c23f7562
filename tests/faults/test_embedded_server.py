"""The embedded server under attack: everybody who takes part is killed, alone and together.

All processes are real. The end of a process is awaited by its pidfd; no test waits for a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import tenacity

from sharedq.redis.embedded import EmbeddedRedis
from sharedq.redis.embedded_guard import ServerFiles, has_open, open_lock, read_pid, try_lock

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: Seconds after which an awaited end counts as never coming.
PATIENCE_S = 60

USER = """
import os, subprocess, sys
from pathlib import Path
from typing import Any
from sharedq.redis.embedded import EmbeddedRedis

held = EmbeddedRedis.start_or_join(Path(sys.argv[1]))
print(held.url, flush=True)
{extra}
sys.stdin.read()
held.leave()
"""

StartUser = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "data"
    yield path
    files = ServerFiles(path)
    # Kill the guardian first: it would start the server again.
    for lock in (files.guardian_lock, files.server_lock):
        if has_open(read_pid(lock), lock):
            with contextlib.suppress(ProcessLookupError):
                os.kill(read_pid(lock), signal.SIGKILL)


@pytest.fixture
def start_user(data_dir: Path) -> Iterator[StartUser]:
    """Starts a command that uses the server until its standard input ends."""
    started: list[subprocess.Popen[str]] = []

    def start(extra: str = "") -> subprocess.Popen[str]:
        user = subprocess.Popen(
            [sys.executable, "-c", USER.format(extra=extra), str(data_dir)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(user)
        return user

    yield start
    for user in started:
        user.kill()
        user.communicate()


def url_of(user: subprocess.Popen[str]) -> str:
    assert user.stdout is not None
    url = user.stdout.readline().strip()
    assert url.startswith("unix://"), "the user ended"
    return url


def await_end(pid: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([pidfd], [], [], PATIENCE_S)[0], f"process {pid} does not end"
    finally:
        os.close(pidfd)


def kill_9(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    await_end(pid)


@contextlib.contextmanager
def client(url: str) -> Iterator[Any]:
    """A client that waits for a server that is being started again."""
    made = redis.Redis.from_url(url, decode_responses=True)
    for attempt in tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(redis.RedisError),
        wait=tenacity.wait_fixed(0.05),
        stop=tenacity.stop_after_delay(PATIENCE_S),
        reraise=True,
    ):
        with attempt:
            made.ping()
    with made:
        yield made


@tenacity.retry(wait=tenacity.wait_fixed(0.01), stop=tenacity.stop_after_delay(PATIENCE_S))
def await_shutdown(data_dir: Path) -> None:
    """Return when the guardian has found that no user is left."""
    fd = open_lock(ServerFiles(data_dir).users_lock)
    try:
        assert not try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def processes(data_dir: Path) -> tuple[int, int]:
    """The process ids of the guardian and the server."""
    files = ServerFiles(data_dir)
    return read_pid(files.guardian_lock), read_pid(files.server_lock)


def test_server_syncs_every_write_and_listens_on_a_private_socket_alone(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        asked = r.config_get("appendonly", "appendfsync", "port", "save", "repl-diskless-sync-delay")
        socket_path = Path(held.url.removeprefix("unix://"))

        assert asked == {
            "appendonly": "yes",
            "appendfsync": "always",
            "port": "0",
            "save": "",
            "repl-diskless-sync-delay": "0",
        }
        assert socket_path.is_socket()
        assert socket_path.stat().st_mode & 0o077 == 0


def test_its_place_can_be_read_without_holding_it(data_dir: Path) -> None:
    assert EmbeddedRedis.running_url(data_dir) is None
    with EmbeddedRedis.start_or_join(data_dir) as held:
        assert EmbeddedRedis.running_url(data_dir) == held.url
    assert EmbeddedRedis.running_url(data_dir) is None


@pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded is a matter of Linux' loader")
def test_server_allocates_with_mimalloc(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        pid = int(r.info("server")["process_id"])

        assert "/libmimalloc.so" in Path(f"/proc/{pid}/maps").read_text("utf-8")


def test_commands_that_start_at_once_share_one_server(start_user: StartUser) -> None:
    users = [start_user() for _ in range(3)]

    run_ids = set()
    for user in users:
        with client(url_of(user)) as r:
            run_ids.add(r.info("server")["run_id"])

    assert len(run_ids) == 1


def test_server_and_guardian_end_with_the_last_user(data_dir: Path) -> None:
    first = EmbeddedRedis.start_or_join(data_dir)
    second = EmbeddedRedis.start_or_join(data_dir)
    guardian, server = processes(data_dir)

    first.leave()
    first.leave()
    with client(second.url) as r:
        assert r.info("server")["process_id"] == server
    second.leave()

    assert not has_open(guardian, ServerFiles(data_dir).guardian_lock)
    assert not has_open(server, ServerFiles(data_dir).server_lock)


def test_the_next_user_finds_the_data(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        r.set("k", "kept")

    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        assert r.get("k") == "kept"


@pytest.mark.invariant(7)
def test_server_that_is_killed_comes_back_with_everything_acknowledged(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held:
        guardian, server = processes(data_dir)
        with client(held.url) as r:
            for n in range(200):
                r.rpush("k", n)
            kill_9(server)

        with client(held.url) as r:
            assert r.lrange("k", 0, -1) == [str(n) for n in range(200)]
            assert r.info("server")["process_id"] != server
        assert processes(data_dir)[0] == guardian


def test_server_comes_back_as_often_as_it_is_killed(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held:
        for n in range(1, 4):
            kill_9(processes(data_dir)[1])
            with client(held.url) as r:
                assert r.incr("k") == n


def test_the_server_dies_with_a_killed_guardian_and_users_replace_both(data_dir: Path, start_user: StartUser) -> None:
    users = [start_user(), start_user()]
    urls = [url_of(user) for user in users]
    guardian, server = processes(data_dir)
    with client(urls[0]) as r:
        r.set("k", "kept")

    kill_9(guardian)
    await_end(server)

    with client(urls[1]) as r:
        assert r.get("k") == "kept"
        assert r.info("server")["process_id"] != server
    assert processes(data_dir)[0] != guardian


def test_no_thread_of_a_user_blocks_on_a_lock(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If threads are greenlets (gevent), it would block all of them, also the connect that waits for the server."""
    flock, blocking = fcntl.flock, list[int]()
    looked = threading.Event()

    def noted(fd: int, operation: int) -> None:
        if not operation & (fcntl.LOCK_NB | fcntl.LOCK_UN):
            blocking.append(operation)
        if threading.current_thread().name == "embedded-redis":
            looked.set()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", noted)
    with EmbeddedRedis.start_or_join(data_dir):
        assert looked.wait(PATIENCE_S)
    assert blocking == []


def test_a_program_of_greenlets_can_use_it(data_dir: Path) -> None:
    pytest.importorskip("gevent")
    program = (
        "from gevent import monkey; monkey.patch_all()\n"
        "import sys, time; from pathlib import Path; from sharedq.redis.embedded import EmbeddedRedis\n"
        "with EmbeddedRedis.start_or_join(Path(sys.argv[1])) as held: time.sleep(0.3); print(held.url)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(data_dir)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout.startswith("unix://"), done.stderr


def test_guardian_that_is_killed_is_replaced_for_a_new_user_too(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir):
        kill_9(processes(data_dir)[0])

        with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
            assert r.ping()


def test_user_that_is_killed_has_left(data_dir: Path, start_user: StartUser) -> None:
    user = start_user()
    url_of(user)
    guardian, server = processes(data_dir)

    user.kill()

    await_end(guardian)
    assert not has_open(server, ServerFiles(data_dir).server_lock)


def test_everybody_killed_at_once_leaves_nothing_in_the_way(data_dir: Path, start_user: StartUser) -> None:
    user = start_user()
    with client(url_of(user)) as r:
        r.set("k", "kept")
    guardian, server = processes(data_dir)
    for pid in (guardian, server, user.pid):
        os.kill(pid, signal.SIGKILL)

    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        assert r.get("k") == "kept"


def test_a_server_without_its_guardian_ends_before_another_one_writes(data_dir: Path) -> None:
    """It is stopped (SIGSTOP), so the SIGTERM after its guardian's death does not reach it in time."""
    with EmbeddedRedis.start_or_join(data_dir) as held:
        guardian, server = processes(data_dir)
        with client(held.url) as r:
            r.set("k", "kept")
        os.kill(server, signal.SIGSTOP)
        kill_9(guardian)

        await_end(server)
        with client(held.url) as r:
            assert r.get("k") == "kept"


def test_torn_end_of_the_append_only_file_is_dropped(data_dir: Path) -> None:
    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        r.set("k", "kept")
    (log,) = (ServerFiles(data_dir).redis_dir / "appendonlydir").glob("*.incr.aof")
    with log.open("ab") as end:
        end.write(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nto")

    with EmbeddedRedis.start_or_join(data_dir) as held, client(held.url) as r:
        assert r.get("k") == "kept"


def test_user_that_arrives_while_the_server_is_stopping_gets_a_new_one(data_dir: Path, start_user: StartUser) -> None:
    user = start_user()
    with client(url_of(user)) as r:
        r.set("k", "kept")
    _, server = processes(data_dir)
    # A stopped server cannot obey its guardian, so the shutdown lasts until the server goes on.
    os.kill(server, signal.SIGSTOP)
    user.kill()
    await_shutdown(data_dir)
    arrived: list[EmbeddedRedis] = []
    newcomer = threading.Thread(target=lambda: arrived.append(EmbeddedRedis.start_or_join(data_dir)))
    newcomer.start()

    os.kill(server, signal.SIGCONT)
    newcomer.join(PATIENCE_S)

    (held,) = arrived
    with held, client(held.url) as r:
        assert r.get("k") == "kept"
        assert r.info("server")["process_id"] == processes(data_dir)[1]


def test_ctrl_c_in_the_terminal_of_the_starter_does_not_reach_the_server(data_dir: Path, start_user: StartUser) -> None:
    starter = start_user()
    url_of(starter)
    guardian, server = processes(data_dir)
    with EmbeddedRedis.start_or_join(data_dir) as held:
        os.killpg(starter.pid, signal.SIGINT)
        starter.wait(PATIENCE_S)

        with client(held.url) as r:
            assert r.info("server")["process_id"] == server
        assert os.getsid(guardian) not in (os.getsid(0), starter.pid)
        assert os.getsid(server) == os.getsid(guardian)


@pytest.mark.parametrize(
    "child",
    [
        "subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL, close_fds=False)",
        "os.fork() or os.execlp('sleep', 'sleep', '600')",
    ],
    ids=["started", "forked and exec"],
)
def test_program_started_by_a_user_does_not_hold_the_server(data_dir: Path, start_user: StartUser, child: str) -> None:
    user = start_user(child)
    url_of(user)
    guardian, _ = processes(data_dir)

    user.kill()

    await_end(guardian)
    os.killpg(user.pid, signal.SIGKILL)


def test_forked_child_of_a_user_does_not_hold_the_server(data_dir: Path, start_user: StartUser) -> None:
    # The child prints a line when it runs, and stays until it is killed.
    user = start_user("if os.fork() == 0:\n    print('forked', flush=True)\n    import signal\n    signal.pause()")
    url_of(user)
    assert user.stdout is not None
    assert user.stdout.readline() == "forked\n"
    guardian, _ = processes(data_dir)

    user.kill()

    await_end(guardian)
    os.killpg(user.pid, signal.SIGKILL)


def test_data_directory_with_a_long_name_has_its_socket_elsewhere(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30) / "a blank and a %41"
    with EmbeddedRedis.start_or_join(data_dir) as held:
        with client(held.url) as r:
            r.set("k", "kept")
            socket_path = Path(str(r.config_get("unixsocket")["unixsocket"]))
        assert len(os.fsencode(socket_path)) <= 100
        assert socket_path.parent.stat().st_mode & 0o777 == 0o700

    assert not socket_path.parent.exists()


def test_user_with_another_temporary_directory_finds_the_same_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / ("long" * 30)
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    with EmbeddedRedis.start_or_join(data_dir) as first:
        assert first.url.startswith("unix:///dev/shm/")
        monkeypatch.setattr(tempfile, "tempdir", "/tmp")
        with EmbeddedRedis.start_or_join(data_dir) as second:
            assert second.url == first.url
            kill_9(processes(data_dir)[0])

            with client(first.url) as r:
                assert r.ping()


def test_data_directory_with_a_blank_in_its_name(tmp_path: Path) -> None:
    with EmbeddedRedis.start_or_join(tmp_path / "a %41 b") as held, client(held.url) as r:
        assert r.ping()
