"""The worst selection strings and messages of a program do not hold Redis."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest

from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.lua.redis_time import Meter
from tests.support.members import TestGroup
from tests.support.server import Server
from tests.unit.properties.test_headers import rfh2

pytestmark = [pytest.mark.slow, pytest.mark.invariant(4)]
#: Bytes of a folder, about: some cost most where the steps are nearly used up by its length, some where it is short.
LENGTHS = (3_900_000, 1_000_000, 240_000)
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("--appendonly", "no")
    yield server
    server.close()


@pytest.fixture(scope="module")
def group(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestGroup]:
    """A group on a server without other callers."""
    group = TestGroup(server.url, tmp_path_factory.mktemp("bounds"))
    group.add_member("QM1")
    yield group
    group.close()


def like(pattern: str) -> str:
    return f"a LIKE '{pattern}'"


#: Selection strings of up to 10,240 bytes that read a long property again and again, or compare it with long texts.
CONDITIONS: dict[str, str] = {
    "two characters": like("%xb%"),
    "a long text": like("%" + "x" * 500 + "b%"),
    "a longer text": like("%" + "x" * 3000 + "b%"),
    "the longest text": like("%" + "x" * 9990 + "b%"),
    "many texts": like("%" + "x%" * 5000 + "b"),
    "distances": like("%" + "x_b%" * 2000),
    "no other texts": like("%" + "x_%" * 3300),
    "other characters": like("%" + "ü_%" * 3300),
    "many searches": " OR ".join([like("%xb%")] * 500),
    "many long searches": " OR ".join([like("%" + "x" * 90 + "b%")] * 90),
    "many comparisons": " OR ".join(f"a = '{'x' * 15}{number}'" for number in range(300)),
    "a list": f"a IN ({','.join(repr(str(number)) for number in range(1000))})",
    "a long sum": " + ".join(["a"] * 2500) + " = 1",
    "arithmetic": " OR ".join(f"a + {number} * 9223372036854775807 = {number}" for number in range(200)),
}


def in_folder(inner: str | bytes) -> bytes:
    return rfh2([b"<usr>" + (inner.encode() if isinstance(inner, str) else inner) + b"</usr>"])


def repeated(text: str) -> Callable[[int], bytes]:
    return lambda length: in_folder(text * (length // len(text.encode())))


def within(begin: str, text: str, end: str) -> Callable[[int], bytes]:
    return lambda length: in_folder(begin + text * (length // len(text.encode())) + end)


#: Folders that take long to read, by their length.
FOLDERS: dict[str, Callable[[int], bytes]] = {
    "elements": repeated("<b>1</b>"),
    "elements that are asked for": repeated("<a>1</a>"),
    "empty elements": repeated("<b/>"),
    "elements of many names": lambda n: in_folder("".join(f"<b{i}></b{i}>" for i in range(n // 17))),
    "a long name": lambda n: in_folder(f"<{'n' * (n // 2)}>1</{'n' * (n // 2)}>"),
    "elements in each other": repeated("<a>" * 90 + "x" + "</a>" * 90),
    "text between elements": repeated("x<b></b>"),
    "whole numbers": repeated("<b dt='i8'>1234567890123456789</b>"),
    "numbers of many digits": repeated(f"<b dt='r8'>{'1' * 400}.{'1' * 400}e1</b>"),
    "truth values": repeated("<b dt='boolean'>1</b>"),
    "bytes": within("<b dt='bin.hex'>", "ab", "</b>"),
    "attributes of one element": within("<b", " b='1'", ">1</b>"),
    "attributes of an empty element": within("<b", " b='1'", "/>"),
    "blanks in a tag": within("<b", " ", ">1</b>"),
    "attributes that differ": lambda n: in_folder("".join(f"<b c='{i}'>1</b>" for i in range(n // 20))),
    "entities in attributes": repeated("<b c='&lt;&lt;'>1</b>"),
    "entities": within("<b>", "&lt;", "</b>"),
    "entities of numbers": within("<b>", "&#x4e00;", "</b>"),
    "beginnings of entities": within("<b>", "&", "</b>"),
    "entities that are empty": within("<b>", "&;", "</b>"),
    "other characters": within("<b>", "\u4e00", "</b>"),
    "characters of four bytes": within("<b>", "\U0001f600", "</b>"),
    "ASCII and others": within("<b>", "xü", "</b>"),
    "runs of characters that differ": lambda n: in_folder(
        "".join(f"x{chr(0x4E00 + i % 20000)}{i}" for i in range(n // 7))
    ),
    "bytes that are no characters": lambda n: in_folder(b"<b>" + b"\xe4" * n + b"</b>"),
    "character set 819": lambda n: rfh2([b"<usr><b>" + b"\xe4" * n + b"</b></usr>"], name_ccsid=819),
    "UTF-16": lambda n: rfh2([f"<usr><b>{'x' * (n // 2)}</b></usr>".encode("utf-16-le")], name_ccsid=1200),
    "pairs of UTF-16": lambda n: rfh2(
        [
            "<usr><b>".encode("utf-16-le")
            + "\U0001f600".encode("utf-16-le") * (n // 4)
            + "</b></usr>".encode("utf-16-le")
        ],
        name_ccsid=1200,
    ),
    "many folders": lambda n: rfh2([b"<usr><c>" + b"x" * (n // 1000) + b"</c></usr>"] * 999),
    "blank folders": lambda n: rfh2([b" " * (n // 4000 * 4)] * 999),
}


def check_browse(group: TestGroup, server: Server, body: bytes, conditions: list[str], count: int = 1) -> None:
    # A get of all these elements would take long in Python, so each case has a queue.
    name = f"Q{next(NUMBERS)}"
    group.define_shared(name, max_msg_length=8_000_000)
    connection = group.connect()
    queue = connection.open(name, OpenOption.OUTPUT)
    queue.put_many([(MQMD(format=b"MQHRF2"), body)] * count)
    meter = Meter(server)
    for condition in conditions:
        with connection.open(name, OpenOption.BROWSE, selector=condition) as selected:

            def browse(selected=selected) -> None:  # type: ignore[no-untyped-def]
                with contextlib.suppress(MQIError):
                    selected.get(GetOption.BROWSE_FIRST)

            meter.check(browse)
    connection.disconnect()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("text", ["x", "xü", "ü"])
def test_selection_strings_do_not_hold_redis(group: TestGroup, server: Server, text: str, length: int) -> None:
    body = in_folder(f"<a>{text * (length // len(text.encode()))}</a>")
    check_browse(group, server, body, list(CONDITIONS.values()))


@pytest.mark.parametrize("kind", FOLDERS)
def test_folders_do_not_hold_redis(group: TestGroup, server: Server, kind: str) -> None:
    for length in LENGTHS:
        check_browse(group, server, FOLDERS[kind](length), ["a = 'y'"])


@pytest.mark.parametrize("length", [300, 4000])
@pytest.mark.parametrize("text", ["x", "<", "xü"])
def test_many_short_messages_do_not_hold_redis(group: TestGroup, server: Server, text: str, length: int) -> None:
    body = in_folder(f"<a>{text * (length // len(text.encode()))}</a>")
    equal = " OR ".join(f"a = '{'x' * 40}{number}'" for number in range(8))
    check_browse(group, server, body, [like("%xb%"), like("%" + "x" * 40 + "b%"), equal, "a > 7", "xx > 7"], count=1000)
