"""The cost of a selector: the script counts its steps, and they are as many as a message has characters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sharedq import MessageHandle
from sharedq.messages.record import encode_record
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.redis.script_source import load_script
from sharedq.selectors.selector import selector_for
from tests.mqi.gets.test_long_messages_cost import bodies_read, commands_of
from tests.mqi.selectors.test_evaluation import NOW_MS, Evaluate, in_script
from tests.support.members import TestGroup
from tests.support.server import Server
from tests.unit.properties.test_headers import rfh2
from tests.unit.properties.test_message_handle import reason_of

__all__ = ["in_script"]

MEBIBYTE = 1 << 20
#: Steps for a character, at most, and for one message: selector.lua has the second as MOST_WORK.
MOST_FOR_A_CHARACTER, MOST_FOR_A_MESSAGE = 1000, 35_000_000
FOLDERS: dict[str, Callable[[int], str]] = {
    "a tag without an end": lambda length: "<" + "a" * length,
    "an attribute without a value": lambda length: "<usr><a " + "b" * length,
    "blanks in a tag": lambda length: "<usr><a" + " " * length,
    "a text without an end": lambda length: "<usr><a>" + "x" * length,
    "beginnings of tags": lambda length: "<usr>" + "<" * length,
    "beginnings of entities": lambda length: "<usr><a>" + "&" * length + "</a></usr>",
    "elements in each other": lambda length: "<usr>" + "<a>" * (length // 3),
    "elements that end at once": lambda length: "<usr>" + "<b/>" * (length // 4) + "</usr>",
    "attributes": lambda length: "<usr><a" + " b='1'" * (length // 6) + "></a></usr>",
    "digits that are no number": lambda length: "<usr><a dt='r8'>" + "1" * length + "x</a></usr>",
    "blanks in a truth value": lambda length: "<usr><a dt='boolean'>1" + " " * length + "1</a></usr>",
    "blanks after a folder": lambda length: "<usr><a>x</a></usr>" + " " * length + "x",
    "other characters than ASCII": lambda length: "<usr><a>" + "ü" * (length // 2) + "</a></usr>",
}


def steps(in_script: Evaluate, text: str, body: bytes, form: bytes = b"MQHRF2") -> int:
    selector = selector_for(text)
    assert selector is not None
    return in_script(selector.tree, encode_record(MQMD(format=form, priority=0), body, b"QM1", NOW_MS))[1]


@pytest.mark.rule("mqi/selectors", "The cost of a selector grows as the length of a message, whatever is in it.")
@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_costs_what_it_is_long(in_script: Evaluate, kind: str) -> None:
    short, long = (steps(in_script, "a LIKE '%x%'", rfh2([FOLDERS[kind](n).encode()])) for n in (4_000, 32_000))
    assert long < 9 * short
    assert long < MOST_FOR_A_CHARACTER * 33_000


@pytest.mark.parametrize(
    ("pattern", "value"),
    [("%abc%", "ab"), ("%" + "_" * 900 + "X%", "y"), ("%y_b%", "y"), ("%ü_b%", "ü"), ("%" + "y" * 60 + "b%", "y")],
)
def test_a_pattern_costs_what_the_value_is_long(in_script: Evaluate, pattern: str, value: str) -> None:
    def cost(length: int) -> int:
        md, handle = MQMD(), MessageHandle()
        handle.set("a", value * length)
        return steps(in_script, f"a LIKE '{pattern}'", handle.to_buffer("%", md))

    assert cost(40_000) < 9 * cost(5_000)


def test_a_message_that_costs_too_much_is_not_chosen(in_script: Evaluate) -> None:
    body = rfh2([b"<usr><a>y</a>" + b"<b/>" * 200_000 + b"</usr>"])
    assert MOST_FOR_A_MESSAGE < steps(in_script, "a = 'y'", body) < 2 * MOST_FOR_A_MESSAGE
    record = encode_record(MQMD(format=b"MQHRF2", priority=0), body, b"QM1", NOW_MS)
    for text in ("a = 'y'", "a IS NULL", "NOT a = 'y'"):
        selector = selector_for(text)
        assert selector is not None
        assert not in_script(selector.tree, record)[0]


@pytest.mark.parametrize(
    "pattern", ["y_", "%y_b%", "%" + "y" * 60 + "_b%", "%xb%", "y_" * 20 + "%", "%ü_b%"], ids=range(6)
)
@pytest.mark.parametrize("text", ["x", "y", "ü"])
def test_a_condition_ends_when_its_steps_are_used_up(in_script: Evaluate, pattern: str, text: str) -> None:
    """One long value, and as many patterns as a selection string has room for."""
    condition = f"a LIKE '{pattern}'"
    count = 10_000 // (len(condition) + len(" OR "))
    body = rfh2([f"<usr><a>{text * (3_900_000 // len(text.encode()))}</a></usr>".encode()])
    one, many = (steps(in_script, " OR ".join([condition] * times), body) for times in (1, count))
    assert many < max(one, MOST_FOR_A_MESSAGE) + 60 * len(body)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[TestGroup]:
    """A group on a server without other callers."""
    server = Server("--appendonly", "no")
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_shared("Q", max_msg_length=8 * MEBIBYTE, property_control="NONE")
    yield group
    group.close()
    server.close()


@pytest.mark.rule(
    "mqi/selectors", "A search reads no more than 4 MB in one call, or one message, and goes on from there."
)
@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(("length", "in_one_call"), [(6_000_000, 1), (1_000_000, 3), (9_000, 400)])
def test_a_call_reads_so_many_bytes(group: TestGroup, length: int, in_one_call: int, is_indexed: bool) -> None:
    connection = group.connect()
    queue = connection.open("Q", OpenOption.OUTPUT)
    count = min(2 * in_one_call, 600)
    for number in range(count):
        handle = MessageHandle()
        handle.set("number", number)
        queue.put(b"x" * length, MQMD(correl_id=b"C" * 24), properties=handle)
    text = f"number = {count - 1}" + (f' AND Root.MQMD.CorrelId = "0x{b"C".hex() * 24}"' if is_indexed else "")
    selected = connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.BROWSE, selector=text)
    got: list[bytes] = []
    commands = commands_of(group, lambda: got.append(selected.get(GetOption.BROWSE_FIRST).body))
    assert got == [b"x" * length]
    calls: list[int] = []
    sha = load_script("structure/get_selected").sha
    for words in commands:
        if words[0] == "evalsha" and words[1] == sha:
            calls.append(0)
        elif calls and bodies_read([words]):
            calls[-1] += bodies_read([words])
    # The message that fits is read again.
    assert len(calls) > 1
    assert max(calls) <= in_one_call + 300 * (length < 10_240) + 3
    assert reason_of(lambda: selected.get(GetOption.BROWSE_NEXT)) == MQRC.NO_MSG_AVAILABLE


def test_expired_messages_do_not_make_a_call_look_at_others_again(group: TestGroup) -> None:
    connection = group.connect()
    queue = connection.open("Q", OpenOption.OUTPUT)
    queue.put_many([(MQMD(), b"x") for _ in range(300)])
    for colour, expiry in (("red", 1), ("red", 1), ("red", 1), ("red", -1)):
        handle = MessageHandle()
        handle.set("colour", colour)
        queue.put(b"found", MQMD(expiry=expiry), properties=handle)
    time.sleep(0.15)
    selected = connection.open("Q", OpenOption.INPUT_SHARED, selector="colour = 'red'")
    commands = commands_of(group, selected.get)
    assert bodies_read(commands) < 304 + 50
