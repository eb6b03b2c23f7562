"""IGQAUT and IGQUSER: the authorities that the agent checks, and the fate of messages that are refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from igq.agent.delivery.put_delivery import Deliverer, users_to_check
from igq.agent.progress.pipe import Pulse
from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmit_part import TransmitPart
from igq.manager.membership import Membership
from igq.manager.process import QueueManager
from igq.mqsc.executor import run
from sharedq.members.event_notes import take_notes
from sharedq.messages.context import user_identifier
from sharedq.messages.transmission import as_transmitted
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.authorities import (
    Authorities,
    AuthorityRecord,
    AuthorityTable,
    check_principal,
    check_profile,
    fits,
    users_of_members,
)
from sharedq.objects.store.parts import own_part
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.redis.keys import private_structure
from tests.support.agents import drain
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

#: The user ids of the sending manager, of IGQUSER, of the message's descriptor.
SENDER, IGQ_USER, CONTEXT = "STC1", "IGQ2", "ALICE"
Put = Callable[..., MQMD]


class Receiver:
    """An agent, step by step."""

    def __init__(self, group: TestGroup, qmgr: str = "QM2") -> None:
        self.said: list[tuple[str, object]] = []
        connection = group.connect(qmgr).connection
        self.queue = TransmitPart(connection, own_part(connection.qmgr_name))
        self.deliverer = Deliverer(
            connection,
            lambda message_id, fields: self.said.append((message_id, fields.get("reason"))),
            SYSTEM_QSG_TRANSMIT_QUEUE,
            Pulse(),
        )

    def round(self) -> tuple[int, int]:
        """The numbers of messages that were moved without being read, and that were delivered by puts."""
        moved = self.queue.move()
        while moved.left and not moved.is_stuck:
            again = self.queue.move()
            again.count += moved.count
            moved = again
        return moved.count, self.deliverer.deliver(self.queue.take()) if moved.is_stuck else 0


def tell_user(group: TestGroup, qmgr: str, user: str) -> None:
    """Let a member say which user it runs as."""
    keys, member = group.group.keys, group.group.member(qmgr)
    assert member is not None
    changes: list[str | int] = [qmgr, member.incarnation, json.dumps({"user": user})]
    assert group.group.call("admin/member_state", [keys.members, keys.fence], changes)[0] == 0


@pytest.fixture
def receiver(group: TestGroup) -> Receiver:
    group.add_member("QM2")
    group.define_private("QM2", "ORDERS")
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    tell_user(group, "QM1", SENDER)
    return Receiver(group)


@pytest.fixture
def put(group: TestGroup, receiver: Receiver) -> Put:
    sender = group.connect("QM1")

    def put_one(body: bytes = b"x", queue: str = "ORDERS", user: str = CONTEXT, **fields: object) -> MQMD:
        md = MQMD(user_identifier=user.encode(), **({"persistence": 1} | fields))  # type: ignore[arg-type]
        handle = sender.open(queue, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT, qmgr_name="QM2")
        with handle:
            return handle.put(body, md, options=PutOption.SET_ALL_CONTEXT)

    assert receiver.said == []
    return put_one


def reasons(group: TestGroup) -> list[int]:
    """The messages on the dead-letter queue of QM2."""
    return [wire.DLH.unpack(letter.body).reason for letter in drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)]


def grant(group: TestGroup, *users: str, profile: str = "ORDERS") -> None:
    for user in users:
        Authorities(group.group).change(profile, user, add=["PUT"])


def mqsc(group: TestGroup, text: str) -> tuple[int, str]:
    out = io.StringIO()
    return run(text.splitlines(keepends=True), group.repository("QM1"), out), out.getvalue()


# -- the table -------------------------------------------------------------------------------------------------


@pytest.mark.rule("igq/authority", "IGQAUT decides whose authority the agent checks; each of these users must have it.")
@pytest.mark.parametrize(
    ("igqaut", "igquser", "expected"),
    [
        ("DEF", IGQ_USER, (SENDER,)),
        ("CTX", IGQ_USER, (SENDER, CONTEXT)),
        ("ONLYIGQ", IGQ_USER, (IGQ_USER,)),
        ("ALTIGQ", IGQ_USER, (IGQ_USER, CONTEXT)),
        # Blank means the receiving manager itself, whose own authority is not checked.
        ("ONLYIGQ", "", ()),
        ("ALTIGQ", "", (CONTEXT,)),
    ],
)
def test_the_agent_asks_for_the_authority_of_these_users(igqaut: str, igquser: str, expected: tuple[str, ...]) -> None:
    attributes = QueueManagerAttributes.model_validate(
        {"name": "QM2", "igq_put_authority": igqaut, "igq_user_id": igquser}
    )
    assert users_to_check(attributes, SENDER, CONTEXT) == expected


@pytest.mark.rule("igq/authority", "Of several authority records for a user, the most specific counts.")
def test_the_most_specific_profile_of_a_user_counts() -> None:
    table = AuthorityTable(
        [
            AuthorityRecord("*", "ALICE", ("PUT",)),
            AuthorityRecord("ORD*", "ALICE"),
            AuthorityRecord("ORDERS", "ALICE", ("PUT",)),
            AuthorityRecord("ORDERS*", "BOB", ("PUT",)),
            AuthorityRecord("ORDERS", "BOB"),
        ]
    )
    allowed = {(user, queue) for user in ("ALICE", "BOB", "EVE", "") for queue in ("ORDERS", "ORDINARY", "BILLS")
               if table.may_put(user, queue)}  # fmt: skip
    assert allowed == {("ALICE", "ORDERS"), ("ALICE", "BILLS")}


@pytest.mark.parametrize(
    ("profile", "fitting", "others"),
    [
        ("APP.%.OUT", ["APP.%.OUT"], ["APP.X.OUT"]),
        ("**", ["A", "A.B.C"], []),
        ("*", ["A", "A.B.C"], []),
        ("APP.**", ["APP", "APP.A", "APP.A.B"], ["APPS", "XAPP.A"]),
        ("**.IN", ["IN", "A.IN", "A.B.IN"], ["A.BIN", "IN.A"]),
        ("APP.**.IN", ["APP.IN", "APP.A.B.IN"], ["APP.A.B"]),
        ("APP.*.IN", ["APP.A.IN", "APP.LONG.IN"], ["APP.IN", "APP.A.B.IN"]),
        ("APP.D?V", ["APP.DEV"], ["APP.DV", "APP.DEEV", "APP.DEV.A"]),
        ("APP.DE*.IN", ["APP.DE.IN", "APP.DEV.IN"], ["APP.DEV.A.IN"]),
        ("APP.D*", ["APP.D", "APP.DEV", "APP.DEV.A"], ["APP.A", "APP"]),
    ],
)
def test_a_generic_profile_means_what_it_means_at_ibm(profile: str, fitting: list[str], others: list[str]) -> None:
    assert check_profile(profile) == profile
    assert [name for name in [*fitting, *others] if fits(profile, name)] == fitting


@pytest.mark.parametrize(
    "profiles", [("AB.C*", "AB.*"), ("AB.?D", "AB.*D"), ("A.*.C", "A.**"), ("AB.CD", "AB.CD*"), ("A.**", "**")]
)
def test_the_first_mark_from_the_left_decides_which_is_more_specific(profiles: tuple[str, str]) -> None:
    specific, general = profiles
    table = AuthorityTable([AuthorityRecord(general, "ANNA"), AuthorityRecord(specific, "ANNA", ("PUT",))])
    assert table.may_put("ANNA", {"A.*.C": "A.B.C", "A.**": "A.B"}.get(specific, "AB.CD"))


def test_many_marks_cost_no_more_than_a_few() -> None:
    assert not fits("*A" * 24, "A" * 47 + "B")
    assert not fits("**." + "*." * 22 + "B", ".".join("A" * 24))


def test_managers_that_a_message_cannot_tell_apart_have_no_user() -> None:
    details = {"QM1": {"user": "A"}, "LONGMANAGER_1": {"user": "B"}, "LONGMANAGER_2": {"user": "B"}, "OLD": {}}
    assert users_of_members(details) == {"QM1": "A", "LONGMANAGER_": "", "OLD": ""}


@pytest.mark.parametrize("profile", ["", "A B", "A.***", "A**", "**.A.**", "x" * 49, "A[B]"])
def test_profiles_that_cannot_be(profile: str) -> None:
    with pytest.raises(ValueError, match="generic profile"):
        check_profile(profile)


@pytest.mark.parametrize("principal", ["", "A B", "x" * 13, "é" * 7, "A\nB"])
def test_users_that_cannot_be(principal: str) -> None:
    with pytest.raises(ValueError, match="user id"):
        check_principal(principal)


# -- delivery --------------------------------------------------------------------------------------------------


@pytest.mark.rule("igq/authority", "Without authority records nothing is checked.")
def test_without_records_nothing_is_checked_and_messages_move(group: TestGroup, receiver: Receiver, put: Put) -> None:
    put(user="")
    assert receiver.round() == (1, 0)
    assert len(drain(group.connect("QM2"), "ORDERS")) == 1


@pytest.mark.rule("igq/authority", "IGQAUT decides whose authority the agent checks; each of these users must have it.")
@pytest.mark.parametrize(
    ("igqaut", "needed"),
    [("DEF", {SENDER}), ("CTX", {SENDER, CONTEXT}), ("ONLYIGQ", {IGQ_USER}), ("ALTIGQ", {IGQ_USER, CONTEXT})],
)
def test_each_of_the_users_must_have_the_authority(
    group: TestGroup, receiver: Receiver, put: Put, igqaut: str, needed: set[str]
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"igq_put_authority": igqaut, "igq_user_id": IGQ_USER})
    grant(group, *needed)
    put(b"granted")
    assert receiver.round() == (0, 1)
    assert [message.body for message in drain(group.connect("QM2"), "ORDERS")] == [b"granted"]

    for missing in sorted(needed):
        Authorities(group.group).change("ORDERS", missing, remove=["PUT"])
        put(b"refused")
        assert receiver.round() == (0, 0)
        assert reasons(group) == [MQRC.NOT_AUTHORIZED]
        grant(group, missing)
    assert drain(group.connect("QM2"), "ORDERS") == []


@pytest.mark.rule(
    "igq/authority", "A message that is refused (2035) is handled like any message that cannot be delivered."
)
def test_authority_is_asked_message_by_message_and_order_is_kept(
    group: TestGroup, receiver: Receiver, put: Put
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"igq_put_authority": "CTX"})
    grant(group, SENDER, "ALICE")
    for n, user in enumerate(["ALICE", "EVE", "ALICE", "", "ALICE"]):
        put(b"%d" % n, user=user)

    assert receiver.round() == (0, 3)

    assert [message.body for message in drain(group.connect("QM2"), "ORDERS")] == [b"0", b"2", b"4"]
    assert reasons(group) == [MQRC.NOT_AUTHORIZED] * 2
    assert receiver.said == [("CSQM064I", "2035 NOT_AUTHORIZED")] * 2


def test_a_refusal_is_told_by_an_event_with_authorev(group: TestGroup, receiver: Receiver, put: Put) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"authority_event": "ENABLED", "igq_put_authority": "CTX"})
    grant(group, SENDER)
    put(user="EVE")
    assert receiver.round() == (0, 0)
    (note,) = take_notes(group.group, private_structure("QM2"), 10)
    assert (note.kind, note.fields["reason"], note.fields["queue"]) == ("refused", MQRC.NOT_AUTHORIZED, "ORDERS")
    assert note.fields["user"] == "EVE"


def test_the_name_that_the_message_says_is_what_counts(group: TestGroup, receiver: Receiver, put: Put) -> None:
    group.define_shared("FLIGHTS")
    grant(group, SENDER, profile="FL*")
    put(b"shared", "FLIGHTS")
    put(b"private")

    assert receiver.round() == (0, 1)

    assert [message.body for message in drain(group.connect("QM1"), "FLIGHTS")] == [b"shared"]
    assert reasons(group) == [MQRC.NOT_AUTHORIZED]


@pytest.mark.rule("igq/authority", "A manager whose user is unknown has no authority.")
def test_a_manager_whose_user_is_not_known_has_no_authority(group: TestGroup, receiver: Receiver, put: Put) -> None:
    tell_user(group, "QM1", "")
    grant(group, SENDER)
    put()
    assert receiver.round() == (0, 0)
    assert reasons(group) == [MQRC.NOT_AUTHORIZED]


@pytest.mark.rule(
    "igq/authority", "A message that is refused (2035) is handled like any message that cannot be delivered."
)
def test_a_refused_message_is_handled_as_undeliverable(group: TestGroup, receiver: Receiver, put: Put) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_private("QM1", "REPLIES")
    grant(group, "NOBODY")
    put(b"discard", report=int(Report.DISCARD_MSG | Report.EXCEPTION), reply_to_q=b"REPLIES", reply_to_q_mgr=b"QM1")

    assert receiver.round() == (0, 0)

    assert (drain(group.connect("QM2"), "ORDERS"), drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)) == ([], [])
    assert receiver.said == [("IGQ0022I", "2035 NOT_AUTHORIZED")]
    back = TransmitPart(group.connect("QM1").connection, own_part("QM1")).take()
    assert [(message.destination, message.md.feedback) for message in back] == [(b"REPLIES", MQRC.NOT_AUTHORIZED)]


@pytest.mark.rule(
    "igq/authority", "Without a dead-letter queue, a message that is refused (2035) goes back with its batch."
)
def test_without_dead_letter_queue_a_persistent_message_awaits_authority(
    group: TestGroup, receiver: Receiver, put: Put
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    grant(group, "NOBODY")
    put(b"kept")
    with pytest.raises(Trouble, match="NOT_AUTHORIZED"):
        receiver.round()

    grant(group, SENDER)
    assert receiver.round() == (0, 1)
    assert [message.body for message in drain(group.connect("QM2"), "ORDERS")] == [b"kept"]


@pytest.mark.rule("igq/authority", "A running agent cannot overtake SET AUTHREC.")
def test_a_running_agent_cannot_overtake_a_new_record(group: TestGroup, receiver: Receiver, put: Put) -> None:
    put(b"before")
    assert receiver.round() == (1, 0)
    # It knows the destination now, and would move the next message in one call.
    grant(group, "NOBODY")
    put(b"after")

    moved = receiver.queue.move()

    assert (moved.count, len(drain(group.connect("QM2"), "ORDERS"))) == (0, 1)
    assert receiver.round() == (0, 0)
    assert reasons(group) == [MQRC.NOT_AUTHORIZED]


@pytest.mark.rule("igq/authority", "A running agent cannot overtake SET AUTHREC.")
def test_a_record_that_appears_while_an_agent_starts_is_not_overlooked(
    group: TestGroup, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    exist = Authorities.exist

    def look_too_early(self: Authorities) -> bool:
        found = exist(self)
        grant(group, "NOBODY")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Authorities, "exist", look_too_early)
        starting = Receiver(group)
    put()
    assert starting.queue.move().count == 0
    assert drain(group.connect("QM2"), "ORDERS") == []


@pytest.mark.rule("igq/authority", "Without authority records nothing is checked.")
def test_when_the_last_record_goes_messages_move_again(group: TestGroup, receiver: Receiver, put: Put) -> None:
    grant(group, SENDER)
    put()
    assert receiver.round() == (0, 1)
    Authorities(group.group).delete("ORDERS", SENDER)
    put()
    assert receiver.round() == (1, 0)


@pytest.mark.rule("igq/authority", "Reason 2035 from Redis itself is no fault of the message.")
def test_a_refusal_by_redis_is_not_the_messages_fault(
    group: TestGroup, receiver: Receiver, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(group, SENDER)
    put(b"kept")

    def refuse(*_: object, **__: object) -> None:
        raise error_for(MQRC.NOT_AUTHORIZED, "MQPUT", "ORDERS", "NOPERM")

    with monkeypatch.context() as patched:
        patched.setattr("igq.agent.delivery.put_delivery.putting.put_many", refuse)
        with pytest.raises(Trouble):
            receiver.round()

    assert reasons(group) == []
    assert receiver.round() == (0, 1)
    assert [message.body for message in drain(group.connect("QM2"), "ORDERS")] == [b"kept"]


@pytest.mark.rule("igq/authority", "A message that passes through another member is checked there.")
def test_a_message_on_its_way_to_another_member_is_checked_there(group: TestGroup, receiver: Receiver) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"igq": "ENABLED"})
    group.define_private("QM1", "ORDERS")
    grant(group, "NOBODY")
    # The message goes through QM2's transmission queue, with a header that names QM1.
    data = as_transmitted(MQMD(persistence=1, priority=0), b"on", b"ORDERS", b"QM1")
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, data, MQMD(persistence=1))

    assert receiver.round() == (0, 1)
    with pytest.raises(Trouble, match="NOT_AUTHORIZED"):
        Receiver(group, "QM1").round()


# -- MQSC ------------------------------------------------------------------------------------------------------


def test_records_are_set_shown_and_deleted_by_mqsc(group: TestGroup) -> None:
    status, output = mqsc(
        group,
        "SET AUTHREC PROFILE('ORD*') OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(PUT)\n"
        "SET AUTHREC PROFILE(BILLS) OBJTYPE(QUEUE) PRINCIPAL(BOB) AUTHADD(NONE)\n"
        "DIS AUTHREC\n",
    )
    assert status == 0, output
    assert output.count("CSQ9022I: SET AUTHREC(") == 2
    assert output.count("CSQM201I: DISPLAY AUTHREC details.") == 2
    assert "PROFILE(ORD*)" in output
    assert "ENTITY(alice)" in output
    assert "AUTHLIST(PUT)" in output
    assert "AUTHLIST(NONE)" in output

    status, output = mqsc(group, "DIS AUTHREC PROFILE(BILLS) PRINCIPAL(BOB) AUTHLIST\n")
    assert (status, output.count("PROFILE("), "ENTTYPE" in output) == (0, 2, False)

    mqsc(group, "SET AUTHREC PROFILE('ORD*') OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHRMV(ALL)\n")
    assert AuthorityRecord("ORD*", "alice") in Authorities(group.group).records()
    status, output = mqsc(group, "DELETE AUTHREC PROFILE('ORD*') OBJTYPE(QUEUE) PRINCIPAL('alice')\n")
    assert (status, "CSQ9022I: DELETE AUTHREC(" in output) == (0, True)
    assert Authorities(group.group).records() == [AuthorityRecord("BILLS", "BOB")]


@pytest.mark.parametrize(
    "command",
    [
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) AUTHADD(PUT)",
        "SET AUTHREC PROFILE(A) PRINCIPAL(B) AUTHADD(PUT)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QMGR) PRINCIPAL(B) AUTHADD(PUT)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(INQ)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD",
        "SET AUTHREC PROFILE(A,C) OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(PUT)",
        "SET AUTHREC PROFILE('A[B') OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(PUT)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(ABCDEFGHIJKLM) AUTHADD(PUT)",
        "SET AUTHREC(A) OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(PUT)",
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B) GROUP(C) AUTHADD(PUT)",
        "SET QLOCAL(A)",
        "DELETE AUTHREC PROFILE(A) OBJTYPE(QUEUE)",
        "DISPLAY AUTHREC OBJTYPE(PROCESS)",
    ],
)
def test_an_invalid_command_is_a_syntax_error_and_changes_nothing(group: TestGroup, command: str) -> None:
    status, output = mqsc(group, command + "\n")
    assert (status, "CSQ9031E: Syntax error" in output) == (10, True)
    assert Authorities(group.group).records() == []


def test_a_record_that_is_not_there_is_neither_shown_nor_deleted(group: TestGroup) -> None:
    for command in ("DIS AUTHREC", "DIS AUTHREC PROFILE(A)", "DIS AUTHREC WHERE(ENTITY EQ B)"):
        status, output = mqsc(group, command + "\n")
        assert (status, "CSQM297I: No AUTHREC matches the request." in output) == (0, True)
    status, output = mqsc(group, "DELETE AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B)\n")
    assert (status, output.count("CSQM125I: AUTHREC(A) was not found")) == (10, 1)
    with pytest.raises(MQIError):
        Authorities(group.group).delete("A", "B")


def test_a_manager_says_which_user_it_runs_as(group: TestGroup) -> None:
    manager = QueueManager(group.settings, "QM3")
    Membership.join(group.group, "QM3", manager._info(), lambda _: None)
    member = group.group.member("QM3")
    assert member is not None
    assert users_of_members({"QM3": member.details}) == {"QM3": user_identifier().decode()}
    assert user_identifier()
