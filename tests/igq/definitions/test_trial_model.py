"""A dry run foretells the real run: each command fails of the same reason or not, and the outcome is the same."""

from __future__ import annotations

import io
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from igq.definitions.catalog import Catalog, read_catalog
from igq.definitions.trial import TrialExecutor, differences
from igq.mqsc.executor import run
from sharedq.admin.definitions_copy import copied_definitions
from sharedq.mqi.constants import OpenOption
from tests.support.examples import examples
from tests.support.members import TestGroup
from tests.support.server import Server

NAMES = st.sampled_from(["A", "B", "FULL", "OPEN", "SYSTEM.DEFAULT.LOCAL.QUEUE", "SYSTEM.QSG.TRANSMIT.QUEUE"])
KINDS = st.sampled_from(["QL", "QA", "QR", "QM"])
WHERE = st.sampled_from(
    ["", "QSGDISP(QMGR)", "QSGDISP(GROUP)", "QSGDISP(COPY)", "QSGDISP(SHARED) CFSTRUCT(APPL1)", "CMDSCOPE(QM2)"]
)
ATTRIBUTES = st.sampled_from(
    ["", "DESCR('x')", "PUT(DISABLED)", "DEFPRTY(10)", "NOPE(1)", "MAXDEPTH(7)", "INDXTYPE(MSGID)", "LIKE(A)"]
)
SCOPE = st.sampled_from(["", "QSGDISP(QMGR)", "QSGDISP(GROUP)", "QSGDISP(SHARED)", "CMDSCOPE(QM2)"])
COMMANDS = st.one_of(
    st.builds(
        "DEFINE {}({}) {} {} {}".format, KINDS, NAMES, WHERE, ATTRIBUTES, st.sampled_from(["", "REPLACE", "NOREPLACE"])
    ),
    st.builds("ALTER {}({}) {} {}".format, KINDS, NAMES, SCOPE, ATTRIBUTES),
    st.builds("DELETE {}({}) {} {}".format, KINDS, NAMES, SCOPE, st.sampled_from(["", "PURGE"])),
    st.builds("CLEAR QL({})".format, NAMES),
    st.builds(
        "{} CFSTRUCT({}) {}".format,
        st.sampled_from(["DEFINE", "ALTER"]),
        st.sampled_from(["APPL1", "S2"]),
        st.sampled_from(["", "DESCR('s')", "CFLEVEL(3)", "CFLEVEL(9)"]),
    ),
    st.builds("DELETE CFSTRUCT({})".format, st.sampled_from(["APPL1", "S2"])),
    st.builds(
        "ALTER QMGR {}".format,
        st.sampled_from(["DEADQ(A)", "IGQ(DISABLED)", "MAXUMSGS(0)", "CMDSCOPE(QM2) DESCR('2')"]),
    ),
    st.builds(
        "SET AUTHREC PROFILE({}) OBJTYPE(QUEUE) PRINCIPAL('u') {}".format,
        NAMES,
        st.sampled_from(["AUTHADD(PUT)", "AUTHADD(NONE)", "AUTHRMV(PUT)", ""]),
    ),
    st.builds("DELETE AUTHREC PROFILE({}) OBJTYPE(QUEUE) PRINCIPAL('u')".format, NAMES),
)
#: The last line of an answer, and the reason: the rest says what changes, or what would.
_OUTCOME = re.compile(r"MQRC_\w+ \(\d+\)|CSQ9031E.*")


def outcomes(output: str) -> list[list[str]]:
    """For each command, what it failed of."""
    answers = re.split(r"^ +\d+ : .*\n", output, flags=re.MULTILINE)[1:]
    return [_OUTCOME.findall(answer) for answer in answers]


def equal(one: Catalog, other: Catalog) -> bool:
    return one.left_out == other.left_out and not differences(one.items, other.items)


@given(commands=st.lists(COMMANDS, min_size=1, max_size=12))
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_dry_run_foretells_the_real_run(redis_server: Server, tmp_path: Path, commands: list[str]) -> None:
    group = TestGroup(redis_server.url, tmp_path)
    try:
        for qmgr in ("QM1", "QM2"):
            group.add_member(qmgr)
        group.define_shared("OPEN")
        group.define_private("QM1", "FULL")
        connection = group.connect()
        with connection.open("FULL", OpenOption.OUTPUT) as queue:
            queue.put(b"x")
        with connection.open("OPEN", OpenOption.OUTPUT):
            text, tried, real = "\n".join(commands) + "\n", io.StringIO(), io.StringIO()
            with copied_definitions(group.group) as copy:
                repository = group.repository("QM1")
                executor = TrialExecutor(type(repository)(copy, "QM1"), repository)
                status = run(io.StringIO(text), type(repository)(copy, "QM1"), tried, executor=executor)

                assert run(io.StringIO(text), repository, real) == status
                assert outcomes(tried.getvalue()) == outcomes(real.getvalue())
                assert equal(read_catalog(copy), read_catalog(group.group))
    finally:
        group.close()
