"""Messages that an agent must not count as delivered, must not lose, and must not be delayed by for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from igq.agent.progress.retry import Trouble
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.calls.handles import open as opening
from sharedq.calls.unit.commit import commit
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, CloseOption, Format, GetOption, MsgFlag, OpenOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQMDE, MQXQH
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import MAX_MSG_LENGTH_LIMIT, QueueAlias, QueueModel, QueueRemote
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.redis.link import Reply, ScriptCall
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import recover_lost

pytestmark = pytest.mark.share

#: A bit of Report without a meaning yet: accepted on its way, refused at the destination.
UNKNOWN_REPORT = 0x0002_0000
#: A bit that is refused on the way, too.
REFUSED_REPORT = 0x0004_0000


@pytest.mark.rule(
    "igq/undelivered", "A message for a model queue makes no dynamic queue; it is dead-lettered with 2057."
)
@pytest.mark.parametrize("kind", ["TEMPDYN", "PERMDYN"])
def test_a_message_for_a_model_queue_makes_no_queue_but_a_dead_letter(
    group: TestGroup, agent: AgentOfQM2, put: Put, kind: str
) -> None:
    """It would go with the queue as soon as the agent closes the queue."""
    group.define("QM2", QueueModel(name="MODEL", definition_type=kind))  # type: ignore[arg-type]
    put("MODEL", b"x")

    assert agent.deliver() == 0

    (letter,) = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter).reason == MQRC.Q_TYPE_ERROR
    assert group.repository("QM2").display_queues("CSQ.*") == []


@pytest.mark.rule(
    "igq/undelivered", "A message with an unknown report option is dead-lettered (2061), without that option."
)
@pytest.mark.parametrize("dest", ["PRIVATE", "SHARED", "NOWHERE"])
def test_an_unknown_report_option_delays_nothing(group: TestGroup, agent: AgentOfQM2, put: Put, dest: str) -> None:
    group.define_private("QM2", "PRIVATE")
    group.define_shared("SHARED")
    put(dest, b"odd", report=UNKNOWN_REPORT | int(Report.PASS_MSG_ID))
    put("PRIVATE", b"good")

    agent.deliver()

    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    expected = MQRC.UNKNOWN_OBJECT_NAME if dest == "NOWHERE" else MQRC.REPORT_OPTIONS_ERROR
    assert (wire.DLH.unpack(letter.body).reason, letter.body[-3:]) == (expected, b"odd")
    # No queue accepts an unknown option, not even the dead-letter queue.
    assert letter.md.report == Report.PASS_MSG_ID
    assert bodies(group, "PRIVATE") == [b"good"]


@pytest.mark.rule(
    "igq/undelivered", "A message whose embedded descriptor no queue takes is dead-lettered and holds nothing up."
)
@pytest.mark.parametrize("fields", [{"report": REFUSED_REPORT}, {"msg_type": 0}, {"msg_type": 1_000_000_000}])
def test_a_message_with_a_programs_own_header_delays_nothing(
    group: TestGroup, agent: AgentOfQM2, fields: dict[str, int]
) -> None:
    group.define_shared("POOL")
    md = MQMD(persistence=1, priority=0, **fields)  # type: ignore[arg-type]
    data = wire.pack_xqh(MQXQH(remote_q_name=b"POOL", remote_q_mgr_name=b"QM2", msg_desc=md))
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, data, MQMD(persistence=1, report=UNKNOWN_REPORT))

    assert agent.deliver() == 0

    assert len(bodies(group, SYSTEM_DEAD_LETTER_QUEUE)) == 1
    assert agent.move().left == 0


@pytest.mark.parametrize("length", [72, -1, 0, 40, 76, 200])
def test_an_extension_of_a_wrong_length_is_dead_lettered_whole(
    group: TestGroup, agent: AgentOfQM2, length: int
) -> None:
    group.define_shared("POOL")
    md = MQMD(persistence=1, priority=0, format=Format.MD_EXTENSION)
    header = wire.pack_xqh(MQXQH(remote_q_name=b"POOL", remote_q_mgr_name=b"QM2", msg_desc=md))
    extension = wire.MDE.pack(MQMDE(struc_length=length, format=Format.STRING, encoding=546, coded_char_set_id=1208))
    data = header + extension + b"payload"
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, data, MQMD(persistence=1, format=Format.XMIT_Q_HEADER))

    agent.deliver()

    letters = [message.body[wire.DLH.length(1) :] for message in drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)]
    assert (bodies(group, "POOL"), letters) == (([b"payload"], []) if length == 72 else ([], [data]))


def test_a_version_2_descriptor_in_a_header_is_dead_lettered(group: TestGroup, agent: AgentOfQM2) -> None:
    group.define_shared("POOL")
    md = MQMD(persistence=1, priority=0, format=Format.STRING)
    header = bytearray(wire.pack_xqh(MQXQH(remote_q_name=b"POOL", remote_q_mgr_name=b"QM2", msg_desc=md)))
    header[108:112] = (2).to_bytes(4, "little")
    data = bytes(header) + b"GROUP-ID-FROM-THE-BODY!!" + bytes(16) + b" payload"
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, data, MQMD(persistence=1))

    assert agent.deliver() == 0

    letters = [message.body[wire.DLH.length(1) :] for message in drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)]
    assert (bodies(group, "POOL"), letters) == ([], [data])


#: Text in several encodings, with its Encoding and CodedCharSetId.
WAYS_TO_WRITE = [(546, 1208, "utf-8"), (785, 500, "cp500"), (546, 500, "cp500"), (273, 1208, "utf-8")]
WAYS_TO_WRITE += [(546, 1200, "utf-16-le"), (273, 1200, "utf-16-be")]


@pytest.mark.rule(
    "igq/undelivered", "A dead letter describes its header, and the header the message, so that CONVERT works."
)
@pytest.mark.parametrize(("encoding", "ccsid", "codec"), WAYS_TO_WRITE)
def test_a_dead_letter_can_be_converted_from_any_character_set(
    group: TestGroup, agent: AgentOfQM2, put: Put, encoding: int, ccsid: int, codec: str
) -> None:
    """Its descriptor describes the header, and the header the message."""
    said = {"format": Format.STRING, "encoding": encoding, "coded_char_set_id": ccsid}
    for _ in range(3):
        put("NOWHERE", "Zürich".encode(codec), **said)
    agent.deliver()

    with group.connect("QM2").open(SYSTEM_DEAD_LETTER_QUEUE, OpenOption.INPUT_SHARED) as queue:
        as_put = queue.get()
        here, there = (
            queue.get(GetOption.CONVERT, match=MQMD(encoding=wanted, coded_char_set_id=set_id, version=2))
            for wanted, set_id in ((273, 1208), (785, 500))
        )
    header = wire.DLH.unpack(as_put.body)
    assert (header.encoding, header.coded_char_set_id, header.format) == (encoding, ccsid, b"MQSTR")
    assert (as_put.md.encoding, as_put.md.coded_char_set_id, as_put.md.format) == (546, 1208, b"MQDEAD")
    assert (here.reason, there.reason) == (MQRC.NONE, MQRC.NONE)
    assert (here.body[:8], here.body[172:]) == (b"DLH \0\0\0\1", "Zürich".encode())
    assert (there.body[:4], there.body[172:]) == ("DLH ".encode("cp500"), "Zürich".encode("cp500"))


SEGMENTABLE = {"version": 2, "msg_flags": int(MsgFlag.SEGMENTATION_ALLOWED)}


@pytest.mark.rule("igq/undelivered", "A dead letter is not split into segments, whatever its message allowed.")
@pytest.mark.parametrize("max_msg_length", [100, 4000])
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_dead_letter_is_not_split(
    group: TestGroup, agent: AgentOfQM2, put: Put, max_msg_length: int, persistence: int
) -> None:
    """If it is too long for the dead-letter queue, it cannot go there either."""
    group.define_private("QM2", "LETTERS", max_msg_length=max_msg_length)
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": "LETTERS"})
    put("NOWHERE", b"x" * 8500, persistence=persistence, **SEGMENTABLE)

    if persistence:
        with pytest.raises(Trouble, match=r"NOWHERE .*UNKNOWN_OBJECT_NAME.* dead-lettered .*MSG_TOO_BIG_FOR_Q"):
            agent.deliver()
    else:
        agent.deliver()

    assert bodies(group, "LETTERS") == []
    assert agent.said == ([] if persistence else ["IGQ0022I"])
    group.define_private("QM2", "NOWHERE")
    agent.deliver()
    assert bodies(group, "NOWHERE") == [b"x" * 8500] * persistence


@pytest.mark.rule("igq/undelivered", "A dead letter is not split into segments, whatever its message allowed.")
@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (MsgFlag.SEGMENTATION_ALLOWED, 0),
        (MsgFlag.SEGMENTATION_ALLOWED | MsgFlag.MSG_IN_GROUP, MsgFlag.MSG_IN_GROUP),
        (MsgFlag.SEGMENTATION_ALLOWED | MsgFlag.LAST_SEGMENT, MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT),
    ],
)
def test_a_dead_letter_keeps_its_place_but_may_not_be_split_any_more(
    group: TestGroup, agent: AgentOfQM2, put: Put, flags: int, left: int
) -> None:
    put("NOWHERE", b"x" * 32, version=2, msg_flags=int(flags), group_id=b"g" * 24)
    agent.deliver()
    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert (letter.md.msg_flags, letter.md.group_id) == (left, b"g" * 24 if left else bytes(24))
    assert letter.body[-32:] == b"x" * 32


@pytest.mark.rule("igq/routes", "A dead letter tells what is wrong with DEFXMITQ.")
@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("NONE", MQRC.UNKNOWN_DEF_XMIT_Q),
        ("ALIAS", MQRC.DEF_XMIT_Q_TYPE_ERROR),
        ("PLAIN", MQRC.DEF_XMIT_Q_USAGE_ERROR),
        (SYSTEM_QSG_TRANSMIT_QUEUE, MQRC.DEF_XMIT_Q_USAGE_ERROR),
        ("", MQRC.UNKNOWN_REMOTE_Q_MGR),
    ],
)
def test_a_dead_letter_names_the_fault_of_the_default_transmission_queue(
    group: TestGroup, agent: AgentOfQM2, put: Put, default: str, reason: MQRC
) -> None:
    group.define_private("QM2", "PLAIN")
    group.define("QM2", QueueAlias(name="ALIAS", target="PLAIN"))
    group.define("QM2", QueueRemote(name="ON", remote_queue="Q", remote_qmgr="PARIS"))
    group.repository("QM2").alter_qmgr("QM2", {"default_transmission_queue": default})
    put("ON", b"x")

    assert agent.deliver() == 0

    (letter,) = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter).reason == reason


@pytest.mark.rule("igq/agent", "The agent's batch is not limited by MAXHANDS and MAXUMSGS.")
def test_maxhands_of_programs_does_not_limit_a_batch(group: TestGroup, put: Put) -> None:
    changes = {"max_handles": 1, "dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE}
    group.repository("QM2").alter_qmgr("QM2", changes)
    names = ["POOL1", "POOL2", "POOL3"]
    for name in names:
        group.define_shared(name)
        put(name, name.encode())
    put("NOWHERE", b"x")

    assert AgentOfQM2(group).deliver() == len(names)

    assert [bodies(group, name, "QM1") for name in names] == [[name.encode()] for name in names]


Define = Callable[[TestGroup], object]


@pytest.mark.rule(
    "igq/undelivered", "A dead-letter queue must be a local queue with USAGE(NORMAL); another refuses with 2057."
)
@pytest.mark.parametrize(
    "define",
    [
        lambda group: group.define("QM2", QueueModel(name="DLQ")),
        lambda group: group.define_private("QM2", "DLQ", usage="XMITQ"),
        lambda group: group.define("QM2", QueueAlias(name="DLQ", target=SYSTEM_QSG_TRANSMIT_QUEUE)),
        lambda group: group.define("QM2", QueueRemote(name="DLQ", remote_queue="IN", remote_qmgr="QM1")),
    ],
    ids=["model", "transmission queue", "the agent's own queue", "remote"],
)
def test_only_a_local_queue_takes_dead_letters(group: TestGroup, agent: AgentOfQM2, put: Put, define: Define) -> None:
    """A model's queue would vanish with the letter, and from a transmission queue the letter would come back."""
    group.define_private("QM1", "IN")
    define(group)
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": "DLQ"})
    put("NOWHERE", b"kept")

    for _ in range(2):
        with pytest.raises(Trouble, match=r"NOWHERE .*UNKNOWN_OBJECT_NAME.* dead-lettered .*DLQ.*2057"):
            agent.deliver()

    assert agent.said == []
    group.define_private("QM2", "NOWHERE")
    assert agent.move().left == 0
    assert bodies(group, "NOWHERE") == [b"kept"]


@pytest.mark.rule("igq/undelivered", "A shared queue may be the dead-letter queue.")
def test_a_shared_queue_may_be_the_dead_letter_queue(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("LETTERS")
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": "LETTERS"})
    put("NOWHERE", b"x")
    agent.deliver()
    assert len(bodies(group, "LETTERS")) == 1


@pytest.mark.rule(
    "igq/undelivered",
    "The default dead-letter queue holds the longest message of the default transmit queue, with its header.",
)
def test_the_longest_default_message_fits_the_dead_letter_queue(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """The header makes it longer than SYSTEM.QSG.TRANSMIT.QUEUE accepts."""
    located = group.repository("QM2").lookup(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert located is not None
    length = located.definition.max_msg_length  # type: ignore[union-attr]
    assert length < MAX_MSG_LENGTH_LIMIT
    put("NOWHERE", b"x" * length)

    assert agent.deliver() == 0

    (letter,) = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert len(letter) == wire.DLH.length(1) + length


@pytest.mark.rule(
    "igq/undelivered", "A report that cannot be put goes to the dead-letter queue of the manager that made it."
)
def test_a_report_that_cannot_be_put_is_dead_lettered_with_a_header(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    sent = put("NOWHERE", b"x", report=int(Report.EXCEPTION | Report.DISCARD_MSG), reply_to_q=b"GONE")
    group.repository("QM2").alter_qmgr("QM2", {"igq": "DISABLED"})

    agent.deliver()

    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    header = wire.DLH.unpack(letter.body)
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (
        MQRC.UNKNOWN_REMOTE_Q_MGR,
        b"GONE",
        b"QM1",
    )
    assert (letter.md.feedback, letter.md.correl_id) == (MQRC.UNKNOWN_OBJECT_NAME, sent.msg_id)
    assert agent.said == ["CSQM064I", "IGQ0022I"]


@pytest.mark.rule("mqi/reports", "A report that cannot be put and has MQRO_DISCARD_MSG is discarded.")
@pytest.mark.rule("igq/undelivered", "A report with MQRO_DISCARD_MSG that cannot be put is discarded.")
def test_a_report_that_is_to_be_discarded_is_not_dead_lettered(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """Its message does not wait: IBM MQ discards a report that asks to be discarded."""
    passing = Report.EXCEPTION | Report.DISCARD_MSG | Report.PASS_DISCARD_AND_EXPIRY
    put("NOWHERE", b"x", persistence=1, report=int(passing), reply_to_q=b"GONE")
    group.repository("QM2").alter_qmgr("QM2", {"igq": "DISABLED"})

    agent.deliver()

    assert bodies(group, SYSTEM_DEAD_LETTER_QUEUE) == []
    assert agent.said == ["IGQ0022I"]


@pytest.mark.rule("igq/agent", "A destination that is altered while the agent opens it is opened again.")
@pytest.mark.parametrize("times", [1, 5])
def test_a_destination_altered_again_and_again_is_not_the_messages_fault(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    group.define_shared("ONE")
    group.define_shared("TWO")
    group.define("QM2", QueueAlias(name="ALIAS", target="ONE"))
    put("ALIAS", b"x")
    open_queue, altered = opening.open_queue, list[int]()

    def open_and_alter(*arguments: object, **options: object) -> object:
        handle = open_queue(*arguments, **options)  # type: ignore[arg-type]
        if len(altered) < times:
            altered.append(1)
            group.repository("QM2").alter("QALIAS", "ALIAS", {"target": ("ONE", "TWO")[len(altered) % 2]})
        return handle

    monkeypatch.setattr(opening, "open_queue", open_and_alter)

    assert agent.deliver() == 1

    assert len(altered) == times
    assert bodies(group, "TWO") == [b"x"]
    assert bodies(group, SYSTEM_DEAD_LETTER_QUEUE) == []


def refuse(
    agent: AgentOfQM2,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    structure: str = "APPL1",
    reason: MQRC = MQRC.CF_STRUC_IN_USE,
) -> None:
    """From the next call of the script *name* on, *structure* cannot be reached."""
    link, is_away, tag = agent.connection._link, [False], agent.group.group.structure(structure).tag
    call_many, call_apart, call_repeatedly = link.call_many, link.call_apart, link.call_repeatedly

    def or_refused(send: Callable[[], list[Reply]], calls: Sequence[ScriptCall]) -> list[Reply]:
        if not any(str(each[1][0]).startswith(tag) for each in calls):
            return send()
        is_away[0] |= any(each[0] == name for each in calls)
        return [[int(reason)] for _ in calls] if is_away[0] else send()

    monkeypatch.setattr(link, "call_many", lambda calls: or_refused(lambda: call_many(calls), calls))
    monkeypatch.setattr(link, "call_apart", lambda calls: or_refused(lambda: call_apart(calls), calls))
    monkeypatch.setattr(
        link, "call_repeatedly", lambda call, *how: or_refused(lambda: call_repeatedly(call, *how), [call])
    )


@pytest.mark.rule("igq/agent", "A queue that cannot be closed now is closed later.")
def test_a_queue_that_cannot_be_closed_now_is_closed_later(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.define_shared("POOL")
    group.define("QM2", QueueAlias(name="ALIAS", target="POOL"))
    put("ALIAS", b"x")
    refuse(agent, monkeypatch, "structure/close")

    assert agent.deliver() == 1

    monkeypatch.undo()
    assert bodies(group, "POOL") == [b"x"]
    assert group.repository("QM1").queue_status("POOL").open_output == 1
    put("NOWHERE", b"y")
    agent.deliver()
    assert group.repository("QM1").queue_status("POOL").open_output == 0


#: Reasons why a structure cannot be used, for any message.
NOT_USABLE = (
    MQRC.CF_NOT_AVAILABLE,
    MQRC.CF_STRUC_IN_USE,
    MQRC.CF_STRUC_LIST_HDR_IN_USE,
    MQRC.CF_STRUC_AUTH_FAILED,
)


@pytest.mark.rule("igq/agent", "A structure that goes away in the middle of a batch leads the agent into retry.")
@pytest.mark.parametrize("reason", NOT_USABLE)
@pytest.mark.parametrize("script", ["structure/open", "structure/put"])
def test_a_structure_that_goes_away_in_a_batch_is_trouble(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, script: str, reason: MQRC
) -> None:
    """It does not end the agent, which could not begin again until the structure is back."""
    group.define_shared("POOL")
    group.define("QM2", QueueAlias(name="ALIAS", target="POOL"))
    put("ALIAS", b"x")
    refuse(agent, monkeypatch, script, reason=reason)

    with pytest.raises(Trouble, match=reason.name):
        agent.deliver()

    monkeypatch.undo()
    assert agent.deliver() == 1
    assert bodies(group, "POOL") == [b"x"]
    assert group.repository("QM1").queue_status("POOL").open_output == 0


@pytest.mark.parametrize("reason", [MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE])
def test_a_structure_of_its_own_that_cannot_be_used_is_trouble(
    agent: AgentOfQM2, monkeypatch: pytest.MonkeyPatch, reason: MQRC
) -> None:
    refuse(agent, monkeypatch, "structure/transfer", "@QM2", reason)
    with pytest.raises(Trouble, match=reason.name):
        agent.move()


@pytest.mark.parametrize("is_carried", [True, False])
def test_puts_in_a_structure_lost_before_the_commit_are_lost_with_it(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, is_carried: bool
) -> None:
    """The result is as it would be a moment later: messages for other queues arrive, and later ones wait."""
    group.define_shared("POOL")
    group.define_private("QM2", "OWN")
    backup(group.group, "APPL1")
    put("POOL", b"lost")
    put("OWN", b"kept")
    messages = agent.queue.take()
    put("POOL", b"later")

    def lose_and_commit(connection: Connection, **_: object) -> None:
        lose(group)
        commit(connection)

    for module in ("igq.agent.delivery.put_delivery", "igq.agent.queues.transmission_queue"):
        monkeypatch.setattr(f"{module}.commit", lose_and_commit)
    if is_carried:
        assert agent.carrier.carry(messages, agent.queue.unchecked_version or "")
    with pytest.raises(Trouble, match="OUTCOME_MIXED"):
        agent.queue.commit() if is_carried else agent.deliverer.deliver(messages)
    monkeypatch.undo()

    with pytest.raises(Trouble, match="CF_STRUC_FAILED"):
        agent.deliver()
    recover(group.group, "APPL1")
    assert agent.deliver() == 1
    assert bodies(group, "POOL") == [b"later"]
    assert bodies(group, "OWN") == [b"kept"]


@pytest.mark.rule("igq/agent", "A batch that cannot be backed out now is left to the recovery of the agent.")
def test_a_batch_that_cannot_be_backed_out_is_left_to_recovery(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("POOL")
    put("POOL", b"first")
    put("NOWHERE", b"second")
    refuse(agent, monkeypatch, "structure/backout")

    with pytest.raises(MQIError) as caught:
        agent.deliver()

    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    # The agent tries to back out once more, on a connection that has ended.
    assert "CF_STRUC_IN_USE" in str(caught.value.__context__)
    recover_lost(group, agent.connection.token, by="QM2")
    assert bodies(group, "POOL") == []
    again = AgentOfQM2(group)
    again.group.define_private("QM2", "NOWHERE")
    assert again.deliver() == 2
    assert bodies(group, "POOL") == [b"first"]


@pytest.mark.rule("igq/undelivered", "A message for a queue that is deleted logically is dead-lettered (2052).")
@pytest.mark.parametrize("when", ["before the agent looks", "while the agent has it open"])
def test_a_message_for_a_deleted_queue_that_is_open(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    group.repository("QM2").define(QueueModel(name="MODEL", definition_type="PERMDYN"))
    program, other = group.connect("QM2"), group.connect("QM2")
    queue = program.open("MODEL", OpenOption.OUTPUT, dynamic_name="ANSWERS")
    theirs = other.open("ANSWERS", OpenOption.OUTPUT)
    # A message that asks for a report is put, and not moved.
    put("ANSWERS", b"x", report=int(Report.PASS_MSG_ID))
    if when == "before the agent looks":
        queue.close(CloseOption.DELETE)
    else:
        real = opening.open_queue

        def then_delete(*arguments: Any, **named: Any) -> Handle:
            handle = real(*arguments, **named)
            if not queue.handle.is_closed and handle.name == "ANSWERS":
                queue.close(CloseOption.DELETE)
            return handle

        monkeypatch.setattr(opening, "open_queue", then_delete)

    assert agent.deliver() == 0

    (letter,) = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter).reason == MQRC.Q_DELETED
    theirs.close()
    assert reason_of(lambda: other.open("ANSWERS", OpenOption.OUTPUT)) == MQRC.UNKNOWN_OBJECT_NAME
