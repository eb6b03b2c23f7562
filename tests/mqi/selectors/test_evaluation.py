"""A script's evaluation of a selector is that of `sharedq.selectors.evaluation`, for any tree and any message.

A message has the properties that a get into a message handle returns, so headers that are not valid have none.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from math import inf, isnan
from sys import float_info
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from sharedq import MessageHandle
from sharedq.calls.get.properties import take_out
from sharedq.messages.message import Message
from sharedq.messages.record import encode_record
from sharedq.mqi.constants import GetOption, PropertyType
from sharedq.mqi.structures import MQMD
from sharedq.properties.names import DESCRIPTOR_FIELDS
from sharedq.redis.script_source import split_header
from sharedq.selectors.evaluation import Subject, evaluate, value_of
from sharedq.selectors.parser import Node, number_of, parse
from sharedq.selectors.selector import needles
from tests.support.examples import examples
from tests.support.server import Server
from tests.unit.properties.test_headers import rfh2

#: More are tried where the variable says so.
EXAMPLES = int(os.environ.get("SELECTOR_EXAMPLES", "200"))
NOW_MS, NUMBER, STRUCTURE = 1_700_000_000_123, 123_456_789_012, 77
NAMES = [
    ("usr", "a"),
    ("usr", "b"),
    ("usr", "g", "a"),
    ("mq_usr", "x", "a"),
    ("jms", "Pri"),
    ("mcd", "Type"),
    ("own", "b"),
]
TEXTS = st.one_of(
    st.sampled_from(["red", "5", "", "Zürich", "a<b", "x&y", "\U0001f600", "%_", "rred"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=4),
)
#: Whole numbers about which floating-point numbers are not exact, or where 64 bits end.
LONG = st.builds(
    lambda power, sign, more: max(-(1 << 63), min(sign * (1 << power) + more, (1 << 63) - 1)),
    st.sampled_from([32, 53, 54, 61, 63]),
    st.sampled_from([-1, 1]),
    st.integers(-3, 3),
)
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(1 << 63), (1 << 63) - 1),
    LONG,
    st.floats(allow_nan=False, width=32),
    st.floats(-10, 10),
)
#: Pieces of folders, valid and not.
PIECES = st.sampled_from(
    [
        *(
            "<usr>",
            "</usr>",
            "<mcd>",
            "</mcd>",
            "<own content='properties'>",
            "</own>",
            "<psc>",
            "</psc >",
            "<usr",
            ">",
        ),
        *("<a>", "</a>", "<a >", "<b>", "</b>", "<b/>", "<g>", "</g>", "<Pri>", "</Pri>", "<jms>", "</jms>", "<a.b>"),
        *("<a dt='i4'>", '<a dt="r8" >', "<a dt = 'i8'/>", "<a dt='r4'>", "<b dt='boolean'>", "<b dt='bin.hex'>"),
        *("<a dt='int'>", "<a xsi:nil='1'/>", "<a xsi:nil='&#49;' dt='i1'>", "<a dt='i1' dt='i2'>", "<JMSa dt='i4'>"),
        *(
            "5",
            "-128",
            "9223372036854775808",
            "1e5",
            "1e39",
            ".",
            "nan",
            "-inf",
            " TRUE ",
            "0f",
            "0 f",
            "red",
            "Zürich",
        ),
        *(
            "&amp;",
            "&#65;",
            "&#x1F600;",
            "&#xD800;",
            "&bad;",
            "&",
            "&amp",
            "<!-- -->",
            "<",
            "'",
            "=",
            " ",
            "\t",
            "\0",
            "\v",
        ),
        *("<" + "a" * 300, "<a " + "b" * 300, "<a" + " " * 300, "x" * 300 + "y", "r" * 300 + "red"),
    ]
)
TYPED = [
    *(
        ("", "red"),
        ("", "Zürich &amp; &#66;"),
        (" dt='i4'", "5"),
        (' dt="r8" ', " -1.5E2"),
        (" dt = 'i8'", "9223372036854775807"),
    ),
    *((" dt='r4'", "0.1"), (" dt='boolean'", " TRUE "), (" dt='bin.hex'", "0f FF"), (" xsi:nil='&#49;' dt='i1'", "x")),
    *(
        (" dt='new'", "5"),
        (" dt='i1' dt='i2'", "300"),
        ("", ""),
        (" dt='r8'", "nan"),
        (" dt='r8'", "-inf"),
        (" ", "red"),
    ),
]
NAMED = st.sampled_from(["a", "b", "Pri", "Type", "x", "JMSa"])
LEAVES = st.builds(lambda name, each: f"<{name}{each[0]}>{each[1]}</{name}>", NAMED, st.sampled_from(TYPED))
GROUPS = st.builds(
    lambda name, inner: f"<{name}>\t{''.join(inner)} </{name} >", st.sampled_from(["g", "x", "g.h"]), st.lists(LEAVES)
)
#: Most folders have no fault; else one of these.
FAULTS = ["piece", "cut", "bytes", "version", "length", "size"]
FIELD_NAMES = sorted(set(DESCRIPTOR_FIELDS) - {"Expiry"})
IDENTIFIERS = ["MsgId", "CorrelId", "GroupId"]


def properties() -> st.SearchStrategy[list[tuple[tuple[str, ...], PropertyType, Any]]]:
    typed = st.one_of(
        st.tuples(st.just(PropertyType.STRING), TEXTS),
        st.tuples(st.just(PropertyType.INT64), st.one_of(LONG, st.integers(-(1 << 63), (1 << 63) - 1))),
        st.tuples(st.just(PropertyType.INT8), st.integers(-5, 5)),
        st.tuples(st.just(PropertyType.FLOAT32), st.floats(width=32)),
        st.tuples(st.just(PropertyType.FLOAT64), st.floats()),
        st.tuples(st.just(PropertyType.BOOLEAN), st.booleans()),
        st.tuples(st.just(PropertyType.BYTE_STRING), st.binary(max_size=3)),
        st.tuples(st.just(PropertyType.NULL), st.none()),
    )
    return st.lists(st.builds(lambda name, value: (name, *value), st.sampled_from(NAMES), typed), max_size=5)


IDS = st.sampled_from([bytes(24), b"A" * 24, bytes(range(24))])
DESCRIPTORS = st.builds(
    MQMD,
    version=st.just(2),
    format=st.sampled_from([b"", b"MQSTR"]),
    priority=st.integers(0, 12),
    persistence=st.integers(0, 1),
    msg_type=st.sampled_from([1, 8]),
    msg_id=IDS,
    correl_id=IDS,
    group_id=IDS,
    msg_seq_number=st.sampled_from([1, 3]),
    msg_flags=st.sampled_from([0, 8]),
    reply_to_q=st.sampled_from([b"", b"ANSWERS"]),
    user_identifier=st.sampled_from([b"", b"me"]),
    accounting_token=st.sampled_from([bytes(32), b"t".ljust(32, b"\0")]),
    feedback=st.integers(-2, 2),
    put_date=st.sampled_from([b"", b"20240229", b"never"]),
    put_time=st.sampled_from([b"", b"23595999"]),
)


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """Up to three MQRFH2, of which the last may have a fault."""
    found, count = b"", draw(st.integers(1, 3))
    for last in range(count)[::-1]:
        fault = draw(st.sampled_from([*[""] * len(FAULTS), *FAULTS])) if not last else ""
        name_ccsid, order = draw(st.sampled_from([1208, 1208, 1208, 1200, 819])), draw(st.sampled_from("<>"))
        codec = {1208: "utf-8", 819: "latin-1", 1200: "utf-16-le" if order == "<" else "utf-16-be"}[name_ccsid]
        folders: list[bytes] = []
        for number in range(draw(st.integers(0, 3))):
            parts = draw(st.lists(st.one_of(LEAVES, LEAVES, GROUPS), max_size=4))
            if fault == "piece" and not number:
                parts.insert(draw(st.integers(0, len(parts))), draw(PIECES))
            names = ["usr", "usr", "own content='properties'", "mq_usr", "jms", "mcd", "psc"]
            name = draw(st.sampled_from(names))
            blanks = draw(st.sampled_from(["", "", "  ", "\0"]))
            folder = f"{blanks}<{name}>{''.join(parts)}</{name.split()[0]}>{blanks}".encode(codec, "replace")
            end = draw(st.integers(0, len(folder))) if fault == "cut" else None
            at = draw(st.integers(0, len(folder))) if fault == "bytes" else 0
            bad = draw(st.sampled_from([b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xd8\0"])) if fault == "bytes" else b""
            folders.append((folder[:at] + bad + folder[at:])[:end] if draw(st.integers(0, 9)) else b" \0")
        form = (
            draw(st.sampled_from([b"MQSTR", b"", b"MQHRF2XX"])) if not last else b"MQHRF2\0" if last > 1 else b"MQHRF2"
        )
        is_ebcdic = draw(st.sampled_from([False, False, True]))
        header = rfh2(
            folders,
            order=order,
            name_ccsid=name_ccsid,
            form=form.decode().ljust(8).encode("cp037") if is_ebcdic else form,
            identifier="RFH ".encode("cp037") if is_ebcdic else b"RFH ",
            encoding=draw(st.sampled_from([0x222, 0x111])),
            ccsid=draw(st.sampled_from([819, -2, 1208])),
            version=1 if fault == "version" else 2,
            length=draw(st.integers(30, 60)) if fault == "length" else None,
        )
        if fault == "size" and folders:
            header = header[:36] + struct.pack(f"{order}i", draw(st.integers(-5, 90))) + header[40:]
        found += header
    return found


def number_node(value: float) -> Node:
    number = number_of(value) if isinstance(value, int) else value
    return ("whole", str(number)) if isinstance(number, int) else ("number", number)


def values() -> st.SearchStrategy[Node]:
    leaves = st.one_of(
        st.sampled_from(NAMES).map(lambda name: ("property", *name)),
        st.sampled_from(FIELD_NAMES).map(lambda name: ("field", name)),
        st.sampled_from(IDENTIFIERS).map(lambda name: ("identifier", name)),
        st.just(("mode",)),
        NUMBERS.map(number_node).filter(lambda node: abs(float(node[1])) != float("inf")),
        TEXTS.map(lambda text: ("text", text)),
        st.binary(max_size=3).map(lambda data: ("bytes", data.hex())),
        st.sampled_from([bytes(24), b"A" * 24]).map(lambda data: ("bytes", data.hex())),
        st.booleans().map(lambda truth: ("boolean", truth)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(
                st.just("calculate"),
                inner,
                st.lists(st.tuples(st.sampled_from("+-*/"), inner), min_size=1, max_size=3),
            ),
            st.tuples(st.just("first"), st.lists(inner, min_size=1, max_size=2)),
        ),
        max_leaves=3,
    )


def conditions() -> st.SearchStrategy[Node]:
    characters = st.sampled_from(["", "r", "e", "d", "%", "_", "ü", "\U0001f600", "\0", ".", "^", "$", "["])
    parts = st.lists(st.lists(characters, max_size=3), min_size=1, max_size=3)
    leaves = st.one_of(
        st.tuples(st.just("compare"), st.sampled_from(["=", "<>", "<", ">", "<=", ">="]), values(), values()),
        st.tuples(st.just("like"), values(), parts),
        st.tuples(st.just("in"), values(), st.lists(TEXTS, min_size=1, max_size=3)),
        st.tuples(st.just("missing"), values()),
        st.tuples(st.just("true"), values()),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        ),
        max_leaves=4,
    )


Evaluate = Callable[[Node, bytes], tuple[bool, int]]


@pytest.fixture(scope="module")
def in_script() -> Iterator[Evaluate]:
    """The condition's truth for a record, as a script finds it, and the steps that it took."""
    server = Server()
    lua = resources.files("sharedq") / "lua" / "prelude"
    pieces = [split_header(name, (lua / f"{name}.lua").read_text("utf-8"))[1] for name in ("record", "selector")]
    ends = "local at, _, work = selector_of(ARGV[1], tonumber(ARGV[2]))({ ARGV[3] }, { ARGV[4] }, 0)"
    source = "\n".join([*pieces, ends, "return { at or 0, work }"])
    client = server.client()

    def call(tree: Node, record: bytes) -> tuple[bool, int]:
        told = json.dumps({"condition": tree, "needles": needles(tree)})
        truth, work = client.eval(source, 0, told, STRUCTURE, f"{NUMBER}x", record)
        return bool(truth), work

    yield call
    client.close()
    server.close()


def got(md: MQMD, body: bytes) -> tuple[bytes, Subject]:
    """The record of a message, and what a get into a message handle returns of it."""
    record = encode_record(md, body, b"QM1", NOW_MS)
    message = Message((record, b"%dx" % NUMBER, STRUCTURE, NOW_MS))
    found = {each.name: each.value for each in take_out(message, int(GetOption.PROPERTIES_IN_HANDLE))}
    return record, Subject(message.md, found)


def agrees(in_script: Evaluate, tree: Node, md: MQMD, body: bytes) -> None:
    record, subject = got(md, body)
    expected = evaluate(tree, subject)
    event(f"{tree[0]} is {expected}")
    assert in_script(tree, record)[0] == (expected is True)


def equality(node: Node, value: Any) -> Node:
    """The condition that a node has exactly this value."""
    if value is None:
        return ("missing", node)
    if isinstance(value, bytes):
        return ("compare", "=", node, ("bytes", value.hex()))
    if isinstance(value, str):
        # JSON has no halves of surrogate pairs.
        is_text = not any("\ud800" <= each <= "\udfff" for each in value)
        return ("compare", "=", node, ("text", value)) if is_text else ("like", node, [[""] * len(value)])
    if isinstance(value, bool):
        return ("compare", "=", node, ("boolean", value))
    if isnan(value):
        return ("compare", "<>", node, node)
    sign, number = ("<", float_info.max) if value == -inf else (">", float_info.max) if value == inf else ("=", value)
    return ("compare", sign, node, number_node(-number if value == -inf else number))


@settings(max_examples=examples(EXAMPLES), suppress_health_check=list(HealthCheck))
@given(conditions(), DESCRIPTORS, properties())
def test_scripts_and_python_agree(
    in_script: Evaluate,
    tree: Node,
    md: MQMD,
    given_: list[tuple[tuple[str, ...], PropertyType, Any]],
) -> None:
    handle, body = MessageHandle(options=1), b"data <usr><a>red</a></usr>"
    for name, type_, value in given_:
        handle.set(".".join(name), value, type_)
    if len(handle):
        body = handle.to_buffer("%", md) + body
    agrees(in_script, tree, md, body)


@settings(max_examples=examples(EXAMPLES), suppress_health_check=list(HealthCheck))
@given(DESCRIPTORS, headers())
def test_scripts_and_python_agree_on_headers_of_any_kind(in_script: Evaluate, md: MQMD, header: bytes) -> None:
    record, subject = got(replace(md, format=b"MQHRF2"), header + b"data")
    event(f"{len(subject.properties)} properties, Format {subject.md.format!r}")
    nodes = [
        *(("property", *name) for name in NAMES),
        *(("field", name) for name in ("Format", "Encoding", "CodedCharSetId")),
    ]
    wrong = [
        (node, value)
        for node in nodes
        for value in [value_of(node, subject)]
        if not in_script(("and", [equality(node, value)]), record)[0]
    ]
    assert not wrong


PIECES_OF_PATTERNS = ["r", "e", "%", "_", "__", "ü", "\U0001f600", "re", "%r", "!%", "!_", "!!", "\\", "&", "."]


@settings(max_examples=examples(EXAMPLES), suppress_health_check=list(HealthCheck))
@given(st.data(), st.lists(st.sampled_from(PIECES_OF_PATTERNS), max_size=9), st.booleans(), st.integers(0, 2))
def test_scripts_and_python_agree_on_patterns(
    in_script: Evaluate, data: st.DataObject, pieces: list[str], has_escape: bool, times: int
) -> None:
    value = ""
    for each in data.draw(st.permutations(pieces)) if data.draw(st.integers(0, 3)) == 0 else pieces:
        filling = st.text(st.sampled_from("reü\U0001f600"), max_size=3).map(lambda text: text * 10**times)
        any_ = "".join(
            "r" if character == "_" else data.draw(filling) if character == "%" else character for character in each
        )
        value += each[1:] if has_escape and each[0] == "!" else any_
    text = f"a LIKE '{''.join(pieces)}'" + (" ESCAPE '!'" if has_escape else "")
    md, handle = MQMD(version=2, priority=0), MessageHandle()
    handle.set("a", value)
    agrees(in_script, parse(text), md, handle.to_buffer("%", md))
