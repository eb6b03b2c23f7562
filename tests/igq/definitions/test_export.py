"""The export of definitions: an empty group that loads it has the same definitions."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export, quoted
from igq.mqsc.executor import run
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS
from tests.support.examples import examples
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = pytest.mark.share

MANAGERS = ("QM1", "QM2")


def load(group: TestGroup, text: str, qmgr: str = "QM1") -> str:
    """Run MQSC; every command must succeed."""
    out = io.StringIO()
    assert run(io.StringIO(text), group.repository(qmgr), out) == 0, out.getvalue()
    return out.getvalue()


def exported(group: TestGroup, **selection: Any) -> str:
    """The export without its first line, which names the group."""
    result = export(group.group, read_catalog(group.group), ExportSelection(**selection))
    assert result.missing == []
    return "\n".join(result.lines[1:]) + "\n"


@contextmanager
def empty_group(server: Server, folder: Path) -> Iterator[TestGroup]:
    """A group with what its first managers define."""
    made = TestGroup(server.url, folder)
    try:
        for qmgr in MANAGERS:
            made.add_member(qmgr)
        yield made
    finally:
        made.close()


def assert_comes_back(server: Server, folder: Path, source: TestGroup, **selection: Any) -> None:
    text = exported(source, **selection)
    with empty_group(server, folder) as target:
        load(target, text)
        assert exported(target, **selection) == text


# Text as hostile as definitions allow: quotes, what means something in MQSC, national characters, blanks.
TEXT = st.text(
    st.one_of(
        st.sampled_from("'\";*+-(), \\äßЖ日本🙂é\u202e\u00a0"),
        st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")),
    ),
    max_size=12,
)
NAMES = st.from_regex(r"[A-Za-z0-9./_%]{1,8}", fullmatch=True)
SIZES = st.integers(0, 64).map("{}K".format)
#: Attributes whose values have a form that no other has.
OF_THEIR_OWN: dict[str, st.SearchStrategy[object]] = {
    "CAPEXPRY": st.integers(1, 999_999_999) | st.just("NOLIMIT"),
    "STGCLASS": st.from_regex(r"[A-Z$#@][A-Z0-9$#@]{0,7}", fullmatch=True),
    **dict.fromkeys(("OFFLD1SZ", "OFFLD2SZ", "OFFLD3SZ"), SIZES),
}


def value_of(attribute: Attribute) -> st.SearchStrategy[str]:
    """MQSC for a valid value of an attribute."""
    keyword = attribute.keyword
    if keyword in OF_THEIR_OWN:
        return OF_THEIR_OWN[keyword].map(lambda value: f"{keyword}({value})")
    if attribute.mqsc.is_bare:
        return st.sampled_from(list(attribute.mqsc.words))
    if attribute.is_number:
        low, high = attribute.limits
        return st.integers(low, high).map(lambda number: f"{keyword}({number})")
    if attribute.mqsc.words:
        return st.sampled_from(list(attribute.words)).map(lambda word: f"{keyword}({word})")
    is_free = keyword in ("DESCR", "TRIGDATA", "IGQUSER")
    return (TEXT if is_free else NAMES).map(lambda text: f"{keyword}({quoted(text[: attribute.mqsc.length])})")


def parameters(model: Any, *without: str) -> st.SearchStrategy[str]:
    settable = [
        each for each in model.attributes() if each.keyword and not each.mqsc.is_output and each.keyword not in without
    ]
    chosen = st.lists(st.sampled_from(settable), unique_by=lambda each: each.keyword, max_size=6)
    return chosen.flatmap(lambda found: st.tuples(*map(value_of, found))).map(" ".join)


@st.composite
def definitions(draw: st.DrawFn) -> list[str]:
    """Commands for objects of every kind and disposition, each with a name of its own."""
    commands = [
        f"ALTER CFSTRUCT(APPL1) {draw(parameters(CFStruct))}",
        f"DEFINE CFSTRUCT(S2) {draw(parameters(CFStruct))}",
    ]
    commands += [f"ALTER QMGR CMDSCOPE({qmgr}) {draw(parameters(QueueManagerAttributes))}" for qmgr in MANAGERS]
    if draw(st.booleans()):
        commands.append(
            f"ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) {draw(parameters(QUEUE_KINDS['QLOCAL'], 'CFSTRUCT'))}"
        )
    for name in draw(st.lists(NAMES, unique=True, max_size=8)):
        kind = draw(st.sampled_from(list(QUEUE_KINDS)))
        where = ["QSGDISP(GROUP)", "QSGDISP(QMGR) CMDSCOPE(QM2)", "QSGDISP(QMGR)"]
        where += ["QSGDISP(SHARED) CFSTRUCT(APPL1)", "QSGDISP(SHARED) CFSTRUCT(S2)"] if kind == "QLOCAL" else []
        own = draw(parameters(QUEUE_KINDS[kind], "CFSTRUCT", "DEFTYPE", "SPREAD"))
        commands.append(f"DEFINE {kind}({quoted(name)}) {draw(st.sampled_from(where))} {own}")
        if "QSGDISP(GROUP)" in commands[-1] and draw(st.booleans()):
            changed = draw(parameters(QUEUE_KINDS[kind], "CFSTRUCT", "DEFTYPE", "SPREAD"))
            commands.append(f"ALTER {kind}({quoted(name)}) QSGDISP(COPY) {changed}")
    for principal in draw(st.lists(st.from_regex(r"[a-zA-Z0-9'ü;+*-]{1,6}", fullmatch=True), max_size=2)):
        words = draw(st.sampled_from(["PUT", "NONE", "ALL"]))
        commands.append(
            f"SET AUTHREC PROFILE('{draw(NAMES)}*') OBJTYPE(QUEUE) PRINCIPAL({quoted(principal)}) AUTHADD({words})"
        )
    return commands


@given(commands=definitions(), one_line=st.booleans(), every=st.booleans())
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_an_export_loads_into_an_empty_group(
    redis_server: Server, tmp_path: Path, commands: list[str], one_line: bool, every: bool
) -> None:
    with empty_group(redis_server, tmp_path) as source:
        load(source, "\n".join(commands) + "\n")
        assert_comes_back(redis_server, tmp_path, source, one_line=one_line, every_attribute=every)


def test_one_attribute_a_line_and_only_what_differs(group: TestGroup) -> None:
    load(group, "DEFINE QL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(5000) DESCR('Tom''s') NOSHARE\n")

    assert exported(group, pattern="ORD*") == (
        "\n"
        "DEFINE QLOCAL('ORDERS') +\n"
        "   QSGDISP(SHARED) +\n"
        "   CFSTRUCT('APPL1') +\n"
        "   DESCR('Tom''s') +\n"
        "   MAXDEPTH(5000) +\n"
        "   NOSHARE +\n"
        "   REPLACE\n"
    )


def test_all_attributes_say_defaults_too(group: TestGroup) -> None:
    load(group, "DEFINE QREMOTE(R)\n")

    text = exported(group, pattern="R", every_attribute=True, one_line=True)

    assert "RNAME(' ')" in text
    assert "DEFPRTY(0)" in text
    assert "ALTDATE" not in text


def test_a_value_that_only_the_template_has_is_written(group: TestGroup) -> None:
    load(group, "ALTER QL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(7)\nDEFINE QL(A)\nDEFINE QL(B) MAXDEPTH(999999999)\n")

    text = exported(group, one_line=True)

    assert "DEFINE QLOCAL('A') QSGDISP(QMGR) CMDSCOPE('QM1') MAXDEPTH(7) REPLACE\n" in text
    assert "DEFINE QLOCAL('B') QSGDISP(QMGR) CMDSCOPE('QM1') MAXDEPTH(999999999) REPLACE\n" in text


def test_a_managers_export_loads_at_another_manager(group: TestGroup) -> None:
    group.add_member("QM2")
    load(group, "DEFINE QL(MINE) MAXDEPTH(3)\nALTER QMGR DEADQ(MINE)\nDEFINE QL(G) QSGDISP(GROUP)\n")

    text = exported(group, manager="QM1")
    load(group, text, "QM2")

    assert "CMDSCOPE" not in text
    assert "'G'" not in text
    assert exported(group, manager="QM2") == text.replace("Queue manager QM1", "Queue manager QM2")


def test_kinds_and_patterns_select(group: TestGroup) -> None:
    load(group, "DEFINE QL(A.1)\nDEFINE QA(A.2)\nDEFINE QL(B.1)\n")

    text = exported(group, pattern="A.*", kinds=("QLOCAL",))

    assert "A.1" in text
    assert "A.2" not in text
    assert "B.1" not in text


def test_dynamic_queues_are_not_exported(group: TestGroup) -> None:
    connection = group.connect()
    with connection.open("SYSTEM.DEFAULT.MODEL.QUEUE", 1, dynamic_name="DYN.*"):
        assert "DYN." not in exported(group)


def test_group_settings_are_comments(group: TestGroup) -> None:
    assert not any(line.startswith("igq group") for line in exported(group).splitlines())


def test_queues_of_a_failed_structure_are_named(group: TestGroup) -> None:
    load(group, "DEFINE QL(LOST) QSGDISP(SHARED) CFSTRUCT(APPL1)\n")
    keys = list(group.group.client().scan_iter(f"{group.group.structure('APPL1').tag}:*"))
    group.group.client().delete(*keys)

    result = export(group.group, read_catalog(group.group), ExportSelection())

    assert any("LOST" in line and "2373" in line for line in result.missing)
    assert any(line.startswith("* ") and "LOST" in line for line in result.lines)


@pytest.mark.parametrize(("arguments", "status"), [(["-t", "NOPE"], 2), (["-m", "NOPE"], 1)])
def test_a_selection_that_cannot_be_is_refused_in_one_line(
    group: TestGroup,
    arguments: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from igq.cli import main

    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))

    assert main(["export", *arguments]) == status
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
