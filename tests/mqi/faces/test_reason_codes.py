"""Every reason code that the seeds and the issue name for MQGET, MQPUT and MQCMIT, provoked by a small scene.

A call that fails, or that ends with 2080, changes nothing: neither in Redis nor in what the handle and its connection
know. Where a document says that it does change something, the scene says what.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC
from tests.mqi import reasons_of_gets, reasons_of_groups, reasons_of_puts
from tests.mqi.reason_scenes import CASES, Scene
from tests.support.members import TestGroup
from tests.support.scenes import contents

pytestmark = pytest.mark.share

ROOT = Path(__file__).parents[3]
#: The modules with the scenes: their import registers the scenes.
SCENES = (reasons_of_gets, reasons_of_groups, reasons_of_puts)

#: The reasons that IBM's pages name, and the reasons of this project's own list.
NAMED = {
    *(2016, 2033, 2041, 2079, 2080, 2161, 2209, 2241, 2242, 2243, 2244, 2245, 2246, 2255, 2256, 2257, 2259),
    *(2003, 2024, 2046, 2185, 2249, 2250, 2251, 2252, 2253),
}
#: Reasons that the scripts of these calls can give, and no scene here provokes.
ELSEWHERE = {
    2009: "tests/faults/test_lost_reply.py: outcomes that are unknown, and owners that are shut out",
    2102: "tests/lua/test_bounds_of_groups.py: more segments than one call puts together",
    2219: "nobody gets it: calls of one connection take turns",
}


def state_of(scene: Scene) -> tuple[object, ...]:
    """The state of the handle and its connection that decides about later calls."""
    handle, unit = scene.handle, scene.connection.unit
    parts = {name: (part.operations, tuple(part.queues)) for name, part in unit.parts.items()}
    return (replace(handle.gets.cursor), handle.order, unit.id, unit.messages, unit.marked, parts)


@pytest.mark.rule("mqi/reasons", "A call that fails changes nothing, neither in Redis nor in its handle.")
@pytest.mark.rule(
    "mqi/reasons",
    "A bad MsgType is 2029, a report option that must be known 2061; other unknown options are a warning.",
)
@pytest.mark.rule(
    "mqi/get", "SET_SIGNAL is always refused with 2046: there is no event of the operating system to post."
)
@pytest.mark.rule("mqi/get", "PROPERTIES_FORCE_MQRFH2, NO_PROPERTIES and PROPERTIES_COMPATIBILITY exclude each other.")
@pytest.mark.rule("mqi/get", "PROPERTIES_IN_HANDLE is 2460: there are no message handles.")
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_reason_code_is_provoked_and_a_failed_call_changes_nothing(group: TestGroup, name: str) -> None:
    case = CASES[name]
    group.define_shared("Q")
    scene = Scene(group)
    call = case.scene(scene)
    before, state = contents(group), state_of(scene)
    assert call() == (case.comp_code, case.reason)
    if case.processes:
        return
    after = contents(group)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    letters = {key.decode().partition("}:")[2][0] for key in changed if key.endswith(b":Q")}
    if not case.changes:
        assert not changed
    assert letters <= set(case.changes)
    if not case.changes_handle:
        assert state_of(scene) == state


@pytest.mark.rule("mqi/reasons", "Each reason that IBM's pages name for MQGET, MQPUT and MQCMIT is provoked.")
def test_every_reason_that_the_documents_name_is_provoked() -> None:
    assert {MQRC(reason) for reason in NAMED} <= {case.reason for case in CASES.values()}


@pytest.mark.rule(
    "mqi/reasons", "Each reason that a script can answer is provoked, or a note names the test that does."
)
def test_every_reason_that_the_scripts_can_answer_is_provoked_or_explained() -> None:
    scripts = ROOT / "sharedq/lua/structure"
    answered = set[int]()
    puts, ends = ("put", "put_plain"), ("commit", "commit_put", "backout")
    for name in ("get", "get_grouped", "browse", "unlock", *puts, *ends):
        header = (scripts / f"{name}.lua").read_text().partition("]]")[0]
        reasons = re.search(r"^REASONS(.*?)^INVARIANTS", header, re.DOTALL | re.MULTILINE)
        assert reasons
        answered |= {int(code) for code in re.findall(r"\b2\d\d\d\b", reasons[1])}
    provoked = {int(case.reason) for case in CASES.values()}
    assert answered - provoked == set(ELSEWHERE)
