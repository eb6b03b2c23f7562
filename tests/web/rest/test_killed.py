"""The console is killed while messages are got: none is lost, and only the one on its way may come twice."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import suppress

import httpx
import pytest

from tests.support.console import Console
from tests.support.scenes import until
from tests.web.rest.test_messaging import path

MESSAGES = 40


@pytest.mark.invariant(3, 8)
def test_no_message_is_lost_with_a_killed_console(console: Console, queue: str) -> None:
    shell = console.shell
    shell.out("put", "QM1", queue, *map(str, range(MESSAGES)))
    got: Counter[str] = Counter()
    for kills in range(3):
        with Console.start(shell) as doomed, doomed.program("otto") as client:
            for _ in range(5):
                got[client.delete(path(queue)).text] += 1
            # The next get is on its way, or done, when the console dies.
            with httpx.stream("DELETE", doomed.url + path(queue), auth=client.auth, headers=client.headers) as last:
                doomed.running.end(signal.SIGKILL)
                with suppress(httpx.HTTPError):
                    got[last.read().decode()] += 1
        assert sum(got.values()) >= 5 * (kills + 1)

    def is_settled() -> bool:
        # The manager sees that the programs have died, and backs out what they had begun.
        queues = shell.status()["queues"]
        return not any(each["uncommitted"] for each in queues if each["name"] == queue)

    until(is_settled, "the killed consoles' units of work end", 120, pause_s=0.2)
    with console.program("otto") as client:
        while (answer := client.delete(path(queue))).status_code == 200:
            got[answer.text] += 1

    assert set(got) == {str(at) for at in range(MESSAGES)}
    assert sum(got.values()) - MESSAGES <= 3
    assert "Everything is accounted for." in shell.out("fsck")
