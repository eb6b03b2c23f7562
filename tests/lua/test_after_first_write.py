"""The list of each script's commands after its first write matches the sources. Each entry has a reason."""

from __future__ import annotations

import re

from sharedq.redis.script_source import commands_of, script_names
from tests.lua.after_first_write import BEGIN, END, PAGE, after_first_write, events, listing
from tests.lua.commands import READS, WRITES
from tests.support.each import for_each

#: The calls for which docs/reference/scripts.md says why they cannot fail.
REASONED = READS | WRITES | {"unpack"}
#: A script that decodes JSON after a write wrote that JSON itself, or MQOPEN made it.
DECODES_LATE = {
    "admin/claim": "the next of several targets; the records of the members and of recoveries",
    "structure/get_selected": "the condition that MQOPEN has made of a selection string",
}


def test_the_page_has_the_list_of_the_sources() -> None:
    assert PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0].strip() == listing().strip(), (
        "python -m tests.lua.after_first_write writes the list anew"
    )


@for_each(script_names())
def test_nothing_without_a_reason_comes_after_the_first_write(name: str) -> None:
    allowed = REASONED | ({"cjson.decode"} if name in DECODES_LATE else set())
    assert set(after_first_write(name)[1]) <= allowed


@for_each(script_names())
def test_each_command_of_a_script_that_can_run_is_seen(name: str) -> None:
    """Only functions that a script has but does not call may be left out."""
    seen = {event for event in events(name) if event.isupper()}
    assert seen <= set(commands_of(name))
    assert bool(seen) == bool(commands_of(name))


def test_every_script_is_in_the_list() -> None:
    assert re.findall(r"^\* `(\w+/\w+)`", PAGE.read_text("utf-8"), re.MULTILINE) == list(script_names())
