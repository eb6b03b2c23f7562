"""MQSC against a real group: the answers, and the effects."""

from __future__ import annotations

import io
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from igq.mqsc.executor import run
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import connect_to
from sharedq.messages.context import user_identifier
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

SAMPLE = Path(__file__).parents[3] / "config" / "sample.mqsc"


class Control:
    """Remembers its requests."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def is_running(self, qmgr: str) -> bool:
        return ("stop QUIESCE", qmgr) not in self.calls

    def start(self, qmgr: str) -> None:
        self.calls.append(("start", qmgr))

    def stop(self, qmgr: str, mode: str) -> None:
        self.calls.append((f"stop {mode}", qmgr))


def mqsc(group: TestGroup, text: str, *, qmgr: str = "QM1", control: Control | None = None) -> tuple[int, str]:
    out = io.StringIO()
    status = run(text.splitlines(keepends=True), group.repository(qmgr), out, control=control)
    return status, out.getvalue()


def done(group: TestGroup, text: str) -> str:
    status, output = mqsc(group, text)
    assert status == 0, output
    return output


def failed(group: TestGroup, text: str) -> str:
    status, output = mqsc(group, text)
    assert status == 10, output
    return output


def test_each_command_is_listed_answered_and_counted(group: TestGroup) -> None:
    output = done(group, "* first\nDEFINE QLOCAL(A) +\n   MAXDEPTH(5)\nALTER QL(A) PUT(DISABLED)\nDELETE QL(A)\n")

    assert output.splitlines() == [
        "     1 : DEFINE QLOCAL(A) +",
        "       :    MAXDEPTH(5)",
        "CSQ9022I: DEFINE QLOCAL(A) normal completion.",
        "     2 : ALTER QL(A) PUT(DISABLED)",
        "CSQ9022I: ALTER QLOCAL(A) normal completion.",
        "     3 : DELETE QL(A)",
        "CSQ9022I: DELETE QLOCAL(A) normal completion.",
        "3 MQSC commands read.",
        "No MQSC commands with a syntax error.",
        "All valid MQSC commands were processed.",
    ]


def test_the_sample_can_be_run_again_and_again(group: TestGroup) -> None:
    for _ in range(2):
        done(group, SAMPLE.read_text())

    assert "DEFPSIST(YES)" in done(group, "DIS QL(FLIGHTS) ALL")


def test_a_failed_command_says_why_and_stops_no_later_one(group: TestGroup) -> None:
    status, output = mqsc(group, "DELETE QL(NONE)\nDEFINE QL(A)\nDEFINE QL(A)\n")

    assert status == 10
    assert "CSQM125I: QLOCAL(NONE) was not found, MQRC_UNKNOWN_OBJECT_NAME (2085)." in output
    assert "CSQM101I: QLOCAL(A) already exists, MQRC_OBJECT_ALREADY_EXISTS (2100)" in output
    assert output.count("CSQ9023E: D") == 2
    assert "CSQ9023E: DELETE QLOCAL(NONE) abnormal completion." in output
    assert output.endswith("2 MQSC commands could not be processed.\n")
    assert group.repository("QM1").lookup("A") is not None


def test_a_syntax_error_names_the_line_and_what_was_expected(group: TestGroup) -> None:
    output = failed(group, "DEFINE QLOCAL(A)\n\nDEFINE QLOCAL(B) XYZZY(RED) MAXDEPTH(1)\nDEFINE QL(C) GET(MAYBE)\n")

    assert "CSQ9031E: Syntax error in line 3, at or near the end of: DEFINE QLOCAL(B) XYZZY(RED)\n" in output
    assert "CSQ9001E: 'XYZZY' is invalid, expected: an attribute that DEFINE QLOCAL sets\n" in output
    assert "CSQ9015E: GET parameter 'MAYBE' is unacceptable, expected: GET(ENABLED or DISABLED)\n" in output
    assert "2 MQSC commands with a syntax error." in output
    assert [group.repository("QM1").lookup(name) is None for name in "ABC"] == [False, True, True]


def test_values_out_of_range_and_bad_names_change_nothing(group: TestGroup) -> None:
    done(group, "DEFINE QL(A) MAXDEPTH(7)")
    for command in (
        "ALTER QL(A) MAXDEPTH(-1)",
        "ALTER QL(A) MAXDEPTH(1_0)",
        "ALTER QL(A) MAXDEPTH(\u0663)",
        "ALTER QL(A) MAXDEPTH(1 0)",
        f"ALTER QL(A) MAXDEPTH({'9' * 5000})",
        "DEFINE QL('A B')",
        "DEFINE QL(S) QSGDISP(SHARED)",
        "DEFINE QA(X) QSGDISP(SHARED) TARGET(A)",
        "DEFINE CFSTRUCT(low) CFLEVEL(9)",
        "DEFINE QL(A) REPLACE NOREPLACE",
        "DEFINE QL(A) SHARE NOSHARE",
        "DEFINE QL(A) CMDSCOPE(QM9)",
        "DEFINE QL(A) CRDATE('2026-01-01')",
        "DELETE QA(A) PURGE",
        "ALTER QMGR QMNAME(X)",
    ):
        assert "CSQ9031E" in failed(group, command), command

    assert "MAXDEPTH(7)" in done(group, "DIS QL(A) MAXDEPTH")


def test_cmdscope_runs_a_command_at_another_member(group: TestGroup) -> None:
    group.add_member("QM2")

    output = done(group, "DEFINE QL(A) CMDSCOPE(QM2)\nALTER QMGR CMDSCOPE(QM2) DEADQ(A)\nDIS QL(A) CMDSCOPE(QM2)\n")

    assert "CSQ9022I: ALTER QMGR QM2 normal completion." in output
    assert group.repository("QM1").locate("A") is None
    assert group.repository("QM1").qmgr_attributes("QM1").dead_letter_queue == ""
    assert "CMDSCOPE(NOPE)" in failed(group, "DEFINE QL(A) CMDSCOPE(NOPE)")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("PING CHANNEL(TO.X)", "PING CHANNEL"),
        ("DEFINE SERVICE(TO.X) CONTROL(QMGR)", "DEFINE SERVICE"),
        ("reset chl(X) seqnum(1)", "RESET CHL"),
        ("RESET SMDS(*) ACCESS(ENABLED)", "RESET SMDS"),
        ("STOP SERVICE(X)", "STOP SERVICE"),
        ("REFRESH SECURITY", "REFRESH SECURITY"),
        ("ARCHIVE", "ARCHIVE"),
    ],
)
def test_ibm_commands_that_igq_lacks_are_named_as_such(group: TestGroup, command: str, named: str) -> None:
    output = failed(group, command)
    assert f"IGQ1001E: {named} is not supported here; igq mqsc --help lists the supported commands.\n" in output
    assert "No MQSC commands with a syntax error." in output


def test_a_ping_is_answered_by_each_manager_of_its_scope(group: TestGroup) -> None:
    group.add_member("QM2")
    assert "CSQ9022I: PING QMGR QM1 normal completion." in done(group, "PING QMGR")
    assert "CSQ9022I: PING QMGR QM2 normal completion." in done(group, "PING QMGR CMDSCOPE(QM2)")
    assert "CSQ9031E" in failed(group, "PING QMGR DESCR(X)")


@pytest.mark.parametrize("command", ["PONG QMGR", "DEFINE QSTATUS(A)", "DEFINE NONSENSE(A)", "ARC"])
def test_a_line_that_is_no_command_is_a_syntax_error(group: TestGroup, command: str) -> None:
    assert ("IGQ1001E" in failed(group, command)) == (command == "ARC")


@pytest.mark.parametrize("text", ["a\tb", "\x1b[31mred", "bell\x07", "a\x85b", "a\u2028b", "null\0"])
def test_control_characters_are_refused_in_one_line(group: TestGroup, text: str) -> None:
    done(group, "DEF QL(A) DESCR('was') \nDEF QR(R) RNAME(X) RQMNAME(Y)\nDEF CFSTRUCT(S)\n")
    for command in (
        f"ALTER QL(A) DESCR('{text}')",
        f"DEFINE QL(B) DESCR('{text}')",
        f"ALTER QL(A) TRIGDATA('{text}')",
        f"ALTER QR(R) DESCR('{text}')",
        f"ALTER QMGR DESCR('{text}')",
        f"ALTER QMGR IGQUSER('{text[:12]}')",
        f"ALTER CFSTRUCT(S) DESCR('{text}')",
    ):
        out = io.StringIO()
        assert run([command + "\n"], group.repository("QM1"), out, is_listed=False) == 10
        line = out.getvalue().split("\n")[0]
        assert "control characters are not allowed" in line
        assert line.isprintable()
    assert "DESCR(was)" in done(group, "DIS QL(A) DESCR")
    done(group, "ALTER QL(A) DESCR('Grüße, 世界 🙂')")


def test_display_queue_writes_two_columns_of_what_is_asked_for(group: TestGroup) -> None:
    done(group, "DEFINE QL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(9) DESCR('All orders')")
    group.connect().put1("ORDERS", b"x")

    lines = done(group, "DIS Q(ORD*) CURDEPTH MAXDEPTH SHARE").splitlines()

    assert lines[1:5] == [
        "CSQM201I: DISPLAY QUEUE details.",
        f"   {'QUEUE(ORDERS)':<40}TYPE(QLOCAL)",
        f"   {'CURDEPTH(1)':<40}MAXDEPTH(9)",
        "   SHARE",
    ]


def test_display_queue_filters_by_type_disposition_structure_and_where(group: TestGroup) -> None:
    done(
        group,
        "DEF QL(A.S) QSGDISP(SHARED) CFSTRUCT(APPL1)\nDEF QL(A.P) MAXDEPTH(5)\nDEF QA(A.A) TARGET(A.P)\n"
        "DEF QR(A.R) RNAME(X) RQMNAME(QM2)\nDEF QM(A.M) DEFTYPE(PERMDYN)\n",
    )

    def names(parameters: str) -> list[str]:
        _, output = mqsc(group, f"DIS {parameters}")
        return [line.split("QUEUE(")[1].split(")")[0] for line in output.splitlines() if line.startswith("   QUEUE(")]

    assert names("Q(A.*)") == ["A.A", "A.M", "A.P", "A.R", "A.S"]
    assert names("QL(A.*)") == ["A.P", "A.S"]
    assert names("Q(A.*) TYPE(QALIAS)") == ["A.A"]
    assert names("Q(A.*) QSGDISP(SHARED)") == ["A.S"]
    assert names("QL(A.*) CFSTRUCT(APPL1)") == ["A.S"]
    assert names("Q(A.*) WHERE(MAXDEPTH LT 10)") == ["A.P"]
    assert names("Q(A.*) WHERE(RQMNAME EQ QM2)") == ["A.R"]
    # No match of a pattern or a filter is an answer. A name without an object is an error.
    for nothing in ("Q(NONE*)", "Q(A.P) WHERE(MAXDEPTH GT 10)", "Q(*) WHERE(CURDEPTH GT 0)"):
        assert "CSQM297I: No QUEUE matches the request." in done(group, f"DIS {nothing}")
    assert "CSQM125I" in failed(group, "DIS Q(NONE)")


def test_alter_and_display_qmgr(group: TestGroup) -> None:
    output = done(group, "ALTER QMGR IGQ(ENABLED) DEADQ(DLQ) DESCR('First') EXPRYINT(OFF)\nDIS QMGR IGQ DEADQ DESCR")

    assert "CSQ9022I: ALTER QMGR QM1 normal completion." in output
    assert "CSQM201I: DISPLAY QMGR details." in output
    assert "   QMNAME(QM1)                             DEADQ(DLQ)\n" in output
    assert "   DESCR(First)                            IGQ(ENABLED)\n" in output
    assert "EXPRYINT(OFF)" in done(group, "DIS QMGR")


def test_queues_are_chosen_by_structure_storage_class_and_cluster(group: TestGroup) -> None:
    done(group, "DEF QL(A) STGCLASS(REMOTE) CLUSTER(C1)\nDEF QL(B) CLUSNL(N1)\nDEF QA(D) TARGET(A) CLUSTER(C2)")
    for chosen, names in (("STGCLASS(REM*)", "A"), ("CLUSTER(C*)", "AD"), ("CLUSNL(N1)", "B"), ("CLUSTER(C1)", "A")):
        shown = done(group, f"DIS Q(*) {chosen}")
        assert re.findall(r"QUEUE\((\w+)\)", shown) == list(names)


def test_handles_say_who_has_a_queue_open(pair: TestGroup) -> None:
    pair.define_structure()
    pair.define_shared("Q")
    user = user_identifier().decode()
    program = QueueManagerConnection(connect_to(pair.group, "QM2"))
    with program, program.open("Q", OpenOption.OUTPUT), pair.connect("QM1").open("Q", OpenOption.OUTPUT):
        shown = done(pair, "DIS QSTATUS(Q) TYPE(HANDLE) APPLTYPE CHANNEL CONNAME WHERE(QMNAME EQ QM2)")
        for text in ("APPLTYPE(USER)", "CHANNEL( )", "CONNAME( )", "QMNAME(QM2)"):
            assert text in shown
        assert "APPLTYPE(SYSTEM)" in done(pair, "DIS QS(Q) TYPE(HANDLE) WHERE(QMNAME EQ QM1) APPLTYPE")
        assert done(pair, f"DIS QS(*) TYPE(HANDLE) WHERE(USERID EQ '{user}')").count(f"USERID({user})") == 2


def test_the_members_that_use_a_structure(pair: TestGroup) -> None:
    pair.define_structure()
    shown = done(pair, "DIS CFSTATUS(APPL1) TYPE(CONNECT)")
    assert [shown.count(each) for each in ("QMNAME(QM1)", "QMNAME(QM2)", "STATUS(ACTIVE)")] == [1, 1, 2]
    assert done(pair, "DIS CFSTATUS(*) TYPE(CONNECT) WHERE(QMNAME EQ QM2) STATUS").count("QMNAME(QM2)") >= 1


def test_areas_of_attributes_of_a_queue_manager(group: TestGroup) -> None:
    events = done(group, "DIS QMGR EVENT")
    assert "INHIBTEV(DISABLED)" in events
    assert "DEADQ" not in events
    assert "PSMODE(ENABLED)" in done(group, "DIS QMGR PUBSUB")
    both = done(group, "DIS QMGR CLUSTER DEADQ")
    assert "REPOS( )" in both
    assert "DEADQ( )" in both
    shown = [done(group, f"DIS QMGR {area}") for area in ("SYSTEM", "EVENT", "CHINIT", "CLUSTER", "PUBSUB")]
    keywords = [keyword for text in shown for keyword in re.findall(r"(\w+)\(", text) if keyword != "QMNAME"]
    assert sorted([*keywords, "QMNAME"]) == sorted(re.findall(r"(\w+)\(", done(group, "DIS QMGR ALL")))
    assert "EVENT without a value" in failed(group, "DIS QMGR EVENT(X)")


def test_clear_and_purge(group: TestGroup) -> None:
    done(group, "DEF QL(A)")
    group.connect().put1("A", b"x")

    assert "CSQM090E: QLOCAL(A) is not empty, MQRC_Q_NOT_EMPTY (2055)" in failed(group, "DELETE QL(A)")
    assert "CSQ9022I: CLEAR QLOCAL(A) normal completion." in done(group, "CLEAR QL(A)")
    group.connect().put1("A", b"x")
    done(group, "DELETE QL(A) PURGE")
    done(group, "DEF QL(A)")
    queue = group.connect().open("A", OpenOption.OUTPUT)
    assert "CSQM090E: QLOCAL(A) is in use, MQRC_OBJECT_IN_USE (2042)" in failed(group, "CLEAR QL(A)")
    queue.close()


def test_structures(group: TestGroup) -> None:
    output = done(
        group,
        "DEF CFSTRUCT(APPL9) CFLEVEL(5) RECOVER(YES) DESCR('nine')\nALT CFSTRUCT(APPL9) RECOVER(NO)\n"
        "DIS CFSTRUCT(APPL9)\nDEL CFSTRUCT(APPL9)\n",
    )

    assert "   CFSTRUCT(APPL9)                         ALTDATE(" in output
    assert "RECOVER(NO)" in output
    assert "MQRC_CF_STRUC_IN_USE (2346)" in failed(group, "DEL CFSTRUCT(APPL1)")


def test_queue_status_by_queue_and_by_handle(group: TestGroup) -> None:
    done(group, "DEF QL(A)")
    connection = group.connect()
    queue = connection.open("A", OpenOption.INPUT_EXCLUSIVE | OpenOption.OUTPUT)
    queue.put(b"x", options=PutOption.SYNCPOINT)

    status = done(group, "DIS QS(A)")
    handles = done(group, "DIS QS(A) TYPE(HANDLE)")

    assert "CSQM201I: DISPLAY QSTATUS details." in status
    assert "   QUEUE(A)                                TYPE(QUEUE)\n" in status
    for text in ("CURDEPTH(1)", "IPPROCS(1)", "OPPROCS(1)", "UNCOM(YES)", "QTIME( , )"):
        assert text in status
    for text in ("TYPE(HANDLE)", "INPUT(EXCL)", "OUTPUT(YES)", "BROWSE(NO)", "QMNAME(QM1)"):
        assert text in handles
    assert f"CONN({connection.connection.token})" in handles
    assert "INPUT(EXCL)" in done(group, "DIS QS(A) TYPE(HANDLE) OPENTYPE(INPUT)")
    assert "CSQM125I" in failed(group, "DIS QS(NONE)")


def test_a_monitored_queue_shows_the_age_of_its_oldest_message(group: TestGroup) -> None:
    done(group, "DEF QL(A) MONQ(LOW)")
    assert "MSGAGE(0)" in done(group, "DIS QS(A)")
    with group.connect().open("A", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as queue:
        for date in (b"20000101", b"20010101"):
            queue.put(b"x", MQMD(put_date=date, put_time=b"00000000"), options=PutOption.SET_ALL_CONTEXT)
    year_2000_s = 946_684_800

    shown = done(group, "DIS QS(A) MSGAGE MONQ WHERE(MSGAGE GT 700000000)")

    age = re.search(r"MSGAGE\((\d+)\)", shown)
    assert age is not None
    seconds = group.group.client().time()[0]
    assert 0 <= seconds - year_2000_s - int(age[1]) <= 600
    assert "MONQ(LOW)" in shown


def test_monitor_shows_the_figures_that_are_gathered(group: TestGroup) -> None:
    done(group, "DEF QL(A) MONQ(LOW)")
    shown = done(group, "DIS QS(A) MONITOR IPPROCS")
    for keyword in ("LGETDATE", "LGETTIME", "LPUTDATE", "LPUTTIME", "MONQ", "MSGAGE", "QTIME", "IPPROCS"):
        assert f"{keyword}(" in shown
    assert "OPPROCS(" not in shown
    assert "OPPROCS(" in done(group, "DIS QS(A) MONITOR ALL")


def test_a_subscription_shows_the_type_of_its_selector(group: TestGroup) -> None:
    done(group, "DEF QL(A)\nDEF SUB(ONE) TOPICSTR(T) DEST(A) SELECTOR('a = 1')\nDEF SUB(TWO) TOPICSTR(T) DEST(A)")
    assert "SELTYPE(STANDARD)" in done(group, "DIS SUB(ONE) SELTYPE")
    assert "SELTYPE(NONE)" in done(group, "DIS SUB(TWO)")


@pytest.mark.parametrize(
    ("of_manager", "of_queue", "level"),
    [
        ("OFF", "QMGR", "OFF"),
        ("HIGH", "QMGR", "HIGH"),
        ("OFF", "MEDIUM", "MEDIUM"),
        ("HIGH", "OFF", "OFF"),
        ("NONE", "HIGH", "OFF"),
    ],
)
def test_monitoring_is_by_the_queue_and_the_manager(
    group: TestGroup, of_manager: str, of_queue: str, level: str
) -> None:
    done(group, f"ALT QMGR MONQ({of_manager})\nDEF QL(A) MONQ({of_queue})")
    group.connect().put1("A", b"x")

    shown = done(group, "DIS QS(A)")

    assert f"MONQ({level})" in shown
    assert ("MSGAGE( )" in shown) == (level == "OFF")


def test_a_monitored_queue_shows_its_latest_put_and_get(group: TestGroup) -> None:
    done(group, "DEF QL(A) MONQ(HIGH)\nDEF QL(B) MONQ(OFF)")
    assert "LPUTDATE( )" in done(group, "DIS QS(A)")
    for name in ("A", "B"):
        with group.connect().open(name, OpenOption.INPUT_SHARED | OpenOption.OUTPUT) as queue:
            queue.put(b"x")
            assert queue.get().body == b"x"
    today = f"{datetime.fromtimestamp(group.group.client().time()[0], UTC):%Y-%m-%d}"

    shown = done(group, "DIS QS(A)")

    for text in (f"LPUTDATE({today})", f"LGETDATE({today})"):
        assert text in shown
    assert re.search(r"LGETTIME\(\d\d\.\d\d\.\d\d\)", shown)
    assert re.search(r"QTIME\(\d+,\d+\)", shown)
    assert "LPUTDATE( )" in done(group, "DIS QS(B)")


def test_the_age_on_the_transmit_queue_is_that_of_all_its_parts(group: TestGroup) -> None:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED", "monitoring": "HIGH"})
    group.define_private("QM2", "THERE")
    assert "MSGAGE(0)" in done(group, "DIS QS(SYSTEM.QSG.TRANSMIT.QUEUE)")
    group.connect().put1("THERE", b"x", MQMD(persistence=1), qmgr_name="QM2")

    assert re.search(r"MSGAGE\(\d+\)", done(group, "DIS QS(SYSTEM.QSG.TRANSMIT.QUEUE)"))


def test_connections_show_their_units_of_work(group: TestGroup) -> None:
    done(group, "DEF QL(A)")
    idle, busy = group.connect(), group.connect()
    busy.put1("A", b"x", options=PutOption.SYNCPOINT)

    output = done(group, "DIS CONN(*) WHERE(UOWSTATE EQ ACTIVE)")

    assert f"CONN({busy.connection.token})" in output
    assert f"CONN({idle.connection.token})" not in output
    assert "UOWSTATE(NONE)" in done(group, f"DIS CONN({idle.connection.token})")


def test_threads_are_the_connections_of_applications(group: TestGroup) -> None:
    connection = group.connect()
    name = connection.connection.appl_name

    for command in (f"DISPLAY THREAD('{name}')", f"DIS THREAD('{name[:2]}*') TYPE(ACTIVE)", "DIS THR(*) TYPE(*)"):
        output = done(group, command)
        assert "CSQV401I" in output
        assert f"CONN({connection.connection.token})" in output
    assert "CSQV419I: No ACTIVE threads found." in done(group, "DISPLAY THREAD(OTHER)")
    assert "CSQV420I: No INDOUBT threads found." in done(group, "DIS THREAD(*) TYPE(INDOUBT)")
    assert "syntax error" in failed(group, "DIS THREAD(*) PID")


def test_display_group_names_every_member_and_its_state(group: TestGroup) -> None:
    group.add_member("QM2")

    output = done(group, "DIS GROUP")

    for name in ("QM1", "QM2"):
        assert f"   {f'QMNAME({name})':<40}QMSTATUS(ACTIVE)\n" in output
    assert output.count(f"PID({os.getpid()})") == 2


def test_display_group_shows_no_pid_of_a_member_that_has_stopped(group: TestGroup) -> None:
    group.add_member("QM2")
    keys = group.group.keys
    group.group.call("admin/leave", [keys.leases, keys.members, keys.fence, keys.processes], ["QM2", 1])

    output = done(group, "DIS GROUP")

    assert "QMSTATUS(INACTIVE)" in output
    assert (output.count(f"PID({os.getpid()})"), output.count("PID( )")) == (1, 1)


def test_start_and_stop_go_to_the_control_of_managers(group: TestGroup) -> None:
    control = Control()
    status, _ = mqsc(group, "STOP QMGR MODE(FORCE)\nSTART QMGR\nSTOP QMGR\n", control=control)

    assert status == 0
    assert control.calls == [("stop FORCE", "QM1"), ("start", "QM1"), ("stop QUIESCE", "QM1")]
    assert "MQRC_FUNCTION_NOT_SUPPORTED" in failed(group, "STOP QMGR")


def test_a_manager_that_was_stopped_takes_no_commands(group: TestGroup) -> None:
    status, output = mqsc(group, "STOP QMGR\nDEF QL(A)\nDIS QMGR\nSTART QMGR\nEND\nDEF QL(B)\n", control=Control())

    assert status == 10
    assert [line[:8] for line in output.splitlines() if line.startswith("CSQ")] == ["CSQ9022I", *["CSQ3106E"] * 3]
    assert "CSQ3106E: Queue manager QM1 is stopped, DEFINE QLOCAL(A) not processed" in output
    assert "3 MQSC commands could not be processed." in output
    assert group.repository("QM1").lookup("A") is None


def test_end_ends_the_run(group: TestGroup) -> None:
    output = done(group, "DEF QL(A)\nEND\nDEF QL(B)\n")

    assert "1 MQSC command read." in output
    assert group.repository("QM1").lookup("B") is None


def test_group_objects_through_mqsc(group: TestGroup) -> None:
    group.add_member("QM2")
    done(group, "DEF QL(A) QSGDISP(GROUP) MAXDEPTH(5)\nALT QL(A) QSGDISP(GROUP) MAXDEPTH(6)\n")

    _, output = mqsc(group, "DIS QL(A) QSGDISP(ALL) MAXDEPTH QSGDISP", qmgr="QM2")

    assert output.count("MAXDEPTH(6)") == 2
    assert "QSGDISP(COPY)" in output
    assert "QSGDISP(GROUP)" in output


@pytest.mark.parametrize(
    "text",
    [
        "DEFINE QLOCAL(A\x1b[2J)",
        "DEFINE QLOCAL(A) DESCR('\x1b]0;title\x07')",
        "\x1b[31mDISPLAY QMGR",
        "DISPLAY QLOCAL('A\x1b[1A')",
        "DEFINE QLOCAL(A) \x9b2J(5)",
        "DELETE QLOCAL('\x1bc')",
        "DISPLAY QMGR * \x1b[2J",
    ],
)
def test_no_answer_steers_the_readers_terminal(group: TestGroup, text: str) -> None:
    output = failed(group, text + "\n")
    assert [char for char in output if not char.isprintable() and char != "\n"] == []
    assert "\\x1b" in output or "\\x9b" in output
