"""A script's evaluation of a selector is that of `sharedq.selectors.evaluation`, for any tree and any message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from sharedq import MessageHandle
from sharedq.messages.record import decode_descriptor, encode_record
from sharedq.mqi.constants import PropertyType
from sharedq.mqi.structures import MQMD
from sharedq.properties.headers import properties_in, read_chain
from sharedq.properties.names import DESCRIPTOR_FIELDS
from sharedq.redis.script_source import split_header
from sharedq.selectors.evaluation import Subject, evaluate
from sharedq.selectors.parser import Node
from sharedq.selectors.selector import needles
from tests.support.server import Server

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
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False, width=32),
    st.floats(-10, 10),
)
FIELD_NAMES = sorted(set(DESCRIPTOR_FIELDS) - {"Expiry"})
IDENTIFIERS = ["MsgId", "CorrelId", "GroupId"]


def properties() -> st.SearchStrategy[list[tuple[tuple[str, ...], PropertyType, Any]]]:
    typed = st.one_of(
        st.tuples(st.just(PropertyType.STRING), TEXTS),
        st.tuples(st.just(PropertyType.INT64), st.integers(-(1 << 63), (1 << 63) - 1)),
        st.tuples(st.just(PropertyType.INT8), st.integers(-5, 5)),
        st.tuples(st.just(PropertyType.FLOAT32), st.floats(width=32, allow_nan=False)),
        st.tuples(st.just(PropertyType.FLOAT64), st.floats(allow_nan=False)),
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


def values() -> st.SearchStrategy[Node]:
    leaves = st.one_of(
        st.sampled_from(NAMES).map(lambda name: ("property", *name)),
        st.sampled_from(FIELD_NAMES).map(lambda name: ("field", name)),
        st.sampled_from(IDENTIFIERS).map(lambda name: ("identifier", name)),
        st.just(("mode",)),
        NUMBERS.map(lambda number: ("number", float(number))).filter(lambda node: abs(node[1]) != float("inf")),
        TEXTS.map(lambda text: ("text", text)),
        st.binary(max_size=3).map(lambda data: ("bytes", data.hex())),
        st.sampled_from([bytes(24), b"A" * 24]).map(lambda data: ("bytes", data.hex())),
        st.booleans().map(lambda truth: ("boolean", truth)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("calculate"), st.sampled_from("+-*/"), inner, inner),
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


@pytest.fixture(scope="module")
def in_script() -> Iterator[Callable[[Node, bytes], bool]]:
    """The condition's truth for a record, as a script finds it."""
    from importlib import resources

    server = Server()
    lua = resources.files("sharedq") / "lua" / "prelude"
    pieces = [split_header(name, (lua / f"{name}.lua").read_text("utf-8"))[1] for name in ("record", "selector")]
    source = "\n".join([*pieces, "return selector_of(ARGV[1], tonumber(ARGV[2]))(ARGV[3], ARGV[4]) and 1 or 0"])
    client = server.client()

    def call(tree: Node, record: bytes) -> bool:
        told = json.dumps({"condition": tree, "needles": needles(tree)})
        return bool(client.eval(source, 0, told, STRUCTURE, f"{NUMBER}x", record))

    yield call
    client.close()
    server.close()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conditions(), DESCRIPTORS, properties())
def test_scripts_and_python_agree(
    in_script: Callable[[Node, bytes], bool],
    tree: Node,
    md: MQMD,
    given_: list[tuple[tuple[str, ...], PropertyType, Any]],
) -> None:
    handle, body = MessageHandle(options=1), b"data <usr><a>red</a></usr>"
    for name, type_, value in given_:
        handle.set(".".join(name), value, type_)
    if len(handle):
        body = handle.to_buffer("%", md) + body
    record = encode_record(md, body, b"QM1", NOW_MS)
    told = decode_descriptor(record, NUMBER, STRUCTURE, NOW_MS)
    found = {each.name: each.value for each in properties_in(read_chain(told, body))}
    expected = evaluate(tree, Subject(told, found))
    event(f"{tree[0]} is {expected}")
    assert in_script(tree, record) == (expected is True)
