"""MQSC of a real installation: each line is loaded, or passed over with a warning.

The forms are those of ``dmpmqcfg -a`` (distributed) and ``CSQUTIL COMMAND MAKEDEF`` in a member with sequence numbers
(z/OS). Source: IBM MQ, "dmpmqcfg", "Use the COMMAND function of CSQUTIL on z/OS".
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from igq.cli import main
from igq.mqsc.executor import run
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import parse_command
from sharedq.objects.definitions.attributes import attributes_of
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.queues import QueueLocal, QueueRemote
from sharedq.objects.store.authorities import Authorities, AuthorityRecord
from tests.support.members import TestGroup

DATA = Path(__file__).parent / "data"
_WARNING = re.compile(r"IGQ100[45]W: Line (\d+): (.*) is passed over: .*\.")


def load(group: TestGroup, text: str, *, is_lenient: bool = True) -> tuple[int, list[str]]:
    out = io.StringIO()
    status = run(io.StringIO(text), group.repository("QM1"), out, is_listed=False, is_lenient=is_lenient)
    return status, out.getvalue().splitlines()


def warnings(lines: list[str]) -> list[str]:
    """The warnings, as line number and what is passed over there."""
    found = [_WARNING.fullmatch(line) for line in lines]
    return [f"{each[1]} {each[2]}" for each in found if each]


def of(what: str, parameters: dict[int, str]) -> list[str]:
    """The warnings for some parameters of one command, by their lines."""
    return [f"{number} {what}: {each}" for number, found in parameters.items() for each in found.split(" & ")]


def test_every_line_of_dmpmqcfg_is_loaded_or_warned_of(group: TestGroup) -> None:
    text = (DATA / "dmpmqcfg.mqsc").read_text()

    status, lines = load(group, text)

    assert status == 0, lines
    assert warnings(lines) == [
        *of("ALTER QMGR", {17: "ADVCAP(DISABLED)"}),
        "108 DEFINE AUTHINFO",
        *("137 SET AUTHREC with GROUP(mqm)", "144 SET AUTHREC: AUTHADD(INQ)"),
        *("152 SET AUTHREC with GROUP(payments)", "155 SET CHLAUTH"),
    ]
    assert lines[-4:] == [
        "17 MQSC commands read.",
        "No MQSC commands with a syntax error.",
        "4 MQSC commands passed over.",
        "All valid MQSC commands were processed.",
    ]


def test_other_attributes_of_dmpmqcfg_are_defined(group: TestGroup) -> None:
    load(group, (DATA / "dmpmqcfg.mqsc").read_text())

    repository = group.repository("QM1")
    attributes = repository.qmgr_attributes("QM1")
    assert (attributes.description, attributes.expiry_interval_s) == ("Payments, Tom's; + test", 60)
    assert (attributes.mark_interval_ms, attributes.max_uncommitted_msgs) == (-1, 20_000)
    assert (attributes.monitoring, attributes.performance_event) == ("MEDIUM", "ENABLED")
    located = repository.lookup("PAY.DEAD.LETTERS")
    assert located is not None
    queue = located.definition
    assert isinstance(queue, QueueLocal)
    assert (queue.max_depth, queue.def_persistence, queue.depth_low_limit) == (5000, "YES", 20)
    assert queue.harden_get_backout == "HARDENBO"
    assert Authorities(group.group).records() == [
        AuthorityRecord("PAY.IN", "payapp", ("BROWSE", "GET", "PUT")),
        AuthorityRecord("PAY.IN", "reader", ("BROWSE", "GET")),
    ]


def test_every_line_of_makedef_is_loaded_or_warned_of(group: TestGroup) -> None:
    text = (DATA / "makedef.mqsc").read_text()
    long_name = "PAY.SHARED.A.RATHER.LONG.NAME.OF.FORTY.EIGHT.CH"

    status, lines = load(group, text)

    assert status == 0, lines
    assert warnings(lines) == [
        "9 DEFINE STGCLASS",
        *of(f"DEFINE QLOCAL({long_name})", {26: "TPIPE( )"}),
        *("32 DEFINE CHANNEL with CHLTYPE(SDR)", "36 SET CHLAUTH"),
    ]
    repository = group.repository("QM1")
    shared = repository.lookup(long_name)
    assert shared is not None
    assert isinstance(shared.definition, QueueLocal)
    assert shared.definition.description == "Goes on in the first column of the next line, as z/OS has it"
    assert (shared.definition.index_type, shared.definition.trigger_type) == ("GROUPID", "EVERY")
    copy = repository.lookup("LEDGER")
    assert copy is not None
    assert isinstance(copy.definition, QueueRemote)
    assert (copy.definition.disposition, copy.definition.remote_qmgr) == ("COPY", "LEDG")
    attributes = repository.qmgr_attributes("QM1")
    assert (attributes.igq_put_authority, attributes.shared_q_mgr_name) == ("CTX", "IGNORE")


@pytest.mark.parametrize(
    "command",
    [
        "DEFINE QL(A) MAXDEPTH(1000000000)",
        "DEFINE QL(A) PUT(ENABLD)",
        "DEFINE QL(A) PUT",
        "DEFINE QL(A) SHARE NOSHARE",
        "DEFINE QL(A) SCOPE(QMGR",
        "DEFINE NOPE(A)",
        "DIS QL(A) WHERE(NOPE EQ 1)",
    ],
)
def test_errors_at_ibm_mq_stay_errors(group: TestGroup, command: str) -> None:
    status, lines = load(group, command + "\n")

    assert status == 10, lines
    assert any("CSQ9031E" in line for line in lines)


def test_an_alter_of_nothing_known_changes_nothing(group: TestGroup) -> None:
    before = group.repository("QM1").qmgr_attributes("QM1")

    status, lines = load(group, "ALTER QMGR INITKEY(' ') FORCE\nALTER QMGR INITKEY(' ')\n")

    assert status == 0
    assert warnings(lines) == ["1 ALTER QMGR: INITKEY( )", "2 ALTER QMGR: INITKEY( )"]
    assert group.repository("QM1").qmgr_attributes("QM1").is_same_as(before)


def test_the_setting_and_the_option_decide(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))
    command = ["mqsc", "QM1", "-c", "DEFINE QL(A) TPIPE(' ') REPLACE"]

    assert main(command) == 10
    assert main([*command, "--lenient"]) == 0
    assert main([*command, "--lenient", "--dry-run"]) == 0
    monkeypatch.setenv("IGQ_MQSC_LENIENT", "true")
    assert main(command) == 0
    assert main([*command, "--strict"]) == 10
    assert "IGQ1005W: Line 1: DEFINE QLOCAL(A): TPIPE( ) is passed over" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["dmpmqcfg", "makedef"])
def test_strictly_the_same_text_is_refused(group: TestGroup, name: str) -> None:
    status, lines = load(group, (DATA / f"{name}.mqsc").read_text(), is_lenient=False)

    assert status == 10
    assert warnings(lines) == []
    assert any("is not supported here" in line for line in lines)


INERT = re.compile(r"IGQ1011W: Line \d+: (.*) is kept and shown, and does nothing here: .*\.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "makedef_all",
            [
                *("CERTLABL(ibmWebSphereMQCSQ1)", "MAXCHL(500)", "SUITEB(128_BIT,192_BIT)"),
                *("DSGROUP(CSQ1.*)", "OFFLOAD(SMDS)"),
                *("DEFREADA(YES)", "STREAMQ(PAY.COPY)", "CLUSTER(PAYCLUS)", "STGCLASS(PAYMENTS)"),
                *("DEFBIND(NOTFIXED)", "CLUSTER(PAYCLUS)"),
                *("COMPMSG(RLE,ZLIBFAST)", "DISCINT(600)", "KAINT(360)", "MONCHL(MEDIUM)", "SENDDATA(ONE,TWO)"),
            ],
        ),
        (
            "dmpmqcfg_all",
            [
                *("CERTLABL(ibmwebspheremqpay1)", "CHLAUTH(ENABLED)", "CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS)"),
                *("IMGSCHED(AUTO)", "SSLKEYR(/var/mqm/qmgrs/PAY1/ssl/key)", "STATMQI(ON)"),
                *("CLWLRANK(5)", "IMGRCOVQ(NO)", "MAXFSIZE(1024)", "NPMCLASS(HIGH)", "STATQ(ON)"),
                *("COMPHDR(NONE,SYSTEM)", "SSLCAUTH(OPTIONAL)"),
            ],
        ),
    ],
)
def test_every_attribute_of_every_kind_loads(group: TestGroup, name: str, said: list[str]) -> None:
    text = (DATA / f"{name}.mqsc").read_text()

    status, lines = load(group, text, is_lenient=False)

    assert status == 0, "\n".join(line for line in lines if "CSQ9031E" in line or "expected" in line or "CSQM" in line)
    found = [INERT.fullmatch(line) for line in lines]
    assert [each[1] for each in found if each] == said


def test_the_dumps_have_every_attribute_of_every_kind() -> None:
    given: dict[str, set[str]] = {}
    for name in ("makedef_all", "dmpmqcfg_all"):
        for source in split_commands(io.StringIO((DATA / f"{name}.mqsc").read_text())):
            command = parse_command(source)
            given.setdefault(command.object_type, set()).update(each.keyword for each in command.parameters)
    missing = {
        kind: [
            attribute.keyword
            for attribute in attributes_of(model)
            if attribute.keyword and not attribute.mqsc.is_output and not given[kind] & set(attribute.keywords)
        ]
        for kind, model in MODELS.items()
    }
    # IBM MQ has no SPREAD.
    assert missing == {kind: ["SPREAD"] if kind == "QALIAS" else [] for kind in MODELS}


#: Attributes of a channel by which it would seem to be safe, and is not.
REFUSED = {
    "SSLCIPH": ("TLS_AES_256_GCM_SHA384", "nothing would be encrypted"),
    "SSLPEER": ("CN=pay", "no client would be refused"),
    "SCYEXIT": ("scy(main)", "clients would not be checked"),
    "SENDEXIT": ("one(a),two(b)", "channels call no exits"),
    "RCVEXIT": ("one(a)", "channels call no exits"),
}


@pytest.mark.parametrize("keyword", REFUSED)
def test_a_channel_seems_no_safer_than_it_is(group: TestGroup, keyword: str) -> None:
    value, why = REFUSED[keyword]
    text = "'" + value.replace(",", "','") + "'"
    command = f"DEFINE CHANNEL(A) CHLTYPE(SVRCONN) {keyword}({text}) MAXINST(5)\n"

    status, lines = load(group, command, is_lenient=False)
    assert status == 10
    assert any(f"expected: {keyword}(' '), because" in line and why in line for line in lines), lines
    assert group.repository("QM1").channels.all() == []

    status, lines = load(group, command)
    assert status == 0
    assert warnings(lines) == [f"1 DEFINE CHANNEL(A): {keyword}({value})"]
    assert why in lines[0]
    (channel,) = group.repository("QM1").channels.all()
    assert channel.max_instances == 5
    assert load(group, f"ALTER CHANNEL(A) CHLTYPE(SVRCONN) {keyword}({text})\n", is_lenient=False)[0] == 10


def test_authority_records_that_cannot_be_kept_are_passed_over(group: TestGroup) -> None:
    text = """\
SET AUTHREC PROFILE('**') PRINCIPAL('anna') OBJTYPE(QUEUE) AUTHADD(BROWSE,GET,PUT,INQ)
SET AUTHREC PROFILE('A.***') PRINCIPAL('anna') OBJTYPE(QUEUE) AUTHADD(PUT)
SET AUTHREC PROFILE('A.*.IN') PRINCIPAL('anna@company.example') OBJTYPE(QUEUE) AUTHADD(PUT)
"""

    status, lines = load(group, text)

    assert status == 0, lines
    passed = ["1 SET AUTHREC: AUTHADD(INQ)", "2 SET AUTHREC with PROFILE(A.***)"]
    assert warnings(lines) == [*passed, "3 SET AUTHREC with PRINCIPAL(anna@company.example)"]
    assert Authorities(group.group).records() == [AuthorityRecord("**", "anna", ("BROWSE", "GET", "PUT"))]
    assert load(group, text, is_lenient=False)[0] == 10
