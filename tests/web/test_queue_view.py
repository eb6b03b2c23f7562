"""The requests of the view of a queue, by HTTP."""

from __future__ import annotations

import pytest

from tests.support.console import Console
from tests.web.views.conftest import run_program

#: Notes the figures as they are, as of three minutes of the last hour.
LOOKS = """
from dataclasses import replace
from sharedq.members.group import Group
from sharedq.reading.figures import FigureReader
from sharedq.reading.history import note_figures
from sharedq.settings.loader import load_settings
group = Group(load_settings())
look = FigureReader(group).read()
for minute in (20, 10, 5):
    note_figures(group, replace(look, now_ms=look.now_ms - minute * 60_000))
group.leave()
"""


def test_pages_go_on_where_the_last_one_ended(console: Console) -> None:
    shell = console.shell
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(PAGED) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    shell.out("put", "QM1", "PAGED", *map(str, range(60)))
    with console.signed_in("vera") as vera:
        seen: list[str] = []
        start: str | None = ""
        while start is not None:
            page = vera.get("/console/api/queue/messages", params={"queue": "PAGED", "from": start}).json()
            seen += [each["preview"] for each in page["messages"]]
            start = page["next"]
            # A message that is got meanwhile is missing, and moves nothing.
            shell.out("get", "QM1", "PAGED", "--max", "1")
        assert seen == [str(at) for at in range(60)]
        gone = vera.get("/console/api/queue/message", params={"queue": "PAGED", "at": page["messages"][-1]["at"]})
        assert gone.json()["text"] == "59"
        shell.out("mqsc", "QM1", "-c", "CLEAR QLOCAL(PAGED)")
        gone = vera.get("/console/api/queue/message", params={"queue": "PAGED", "at": page["messages"][-1]["at"]})
        assert (gone.status_code, gone.json()) == (404, {"error": "the message is no longer on the queue"})


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({}, 400),
        ({"queue": "X" * 49}, 400),
        ({"queue": "NOT.THERE"}, 404),
        ({"queue": "PAGED", "qmgr": "NONE"}, 404),
        *(({"queue": "PAGED", "from": each}, 400) for each in ("x", "[]", "[1]", "[-1, 0]", '["a", 0]', "[" * 5_000)),
        ({"queue": "PAGED", "from": f"[0, {2**60}]"}, 400),
    ],
)
def test_a_place_that_is_none_is_refused(console: Console, parameters: dict[str, str], status: int) -> None:
    with console.signed_in("vera") as vera:
        answer = vera.get("/console/api/queue/messages", params=parameters)

    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]


def test_the_last_hours_of_a_queue_and_of_the_group_are_told(console: Console) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(HOUR)")
    console.shell.out("put", "QM1", "HOUR", "a", "b")
    run_program(console, LOOKS)
    with console.signed_in("vera") as vera:
        looks = vera.get("/console/api/queue/history", params={"queue": "HOUR", "qmgr": "QM1"}).json()["looks"]
        assert vera.get("/console/api/queue/history").status_code == 400
        of_day = vera.get("/console/api/queue/history", params={"queue": "HOUR", "qmgr": "QM1", "span": "day"}).json()
        assert {each["at_ms"] // 60_000 % 15 for each in of_day["looks"]} <= {0}
        for where in ("group", "queue"):
            refused = vera.get(f"/console/api/{where}/history", params={"queue": "HOUR", "span": "year"})
            assert (refused.status_code, list(refused.json())) == (400, ["error"])
        past = vera.get("/console/api/group/history").json()
        assert past["looks"][-1]["retries"] == {"QM1": 0, "QM2": 0}
        assert past["looks"][-1]["recoveries"] == 0
        assert all(isinstance(at_ms, int) and isinstance(text, str) for at_ms, text in past["time_line"])
        other = vera.get(
            "/console/api/queue/history", params={"queue": "SYSTEM.ADMIN.COMMAND.QUEUE", "qmgr": "QM1"}
        ).json()
        assert other == {"looks": [], "is_noted": False}
    # Other consoles may have looked, too, before the queue was there and after.
    assert [each["depth"] for each in looks].count(2) >= 3
    assert [each["at_ms"] for each in looks] == sorted(each["at_ms"] for each in looks)
