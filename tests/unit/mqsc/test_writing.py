"""Commands that are written from their parts are read back as they were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import Command, parse_command
from igq.mqsc.language.writing import command, command_text, flag, parameter

#: Values that others may have written into a name, a description or a topic string.
VALUES = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=30).filter(str.isprintable)


def plain(read: Command) -> Command:
    """Without the places in its text."""
    parameters = tuple(replace(each, segment="", line=0) for each in read.parameters)
    return replace(read, line=1, parameters=parameters)


@given(name=VALUES, values=st.lists(VALUES, min_size=1, max_size=3))
def test_a_written_command_is_one_command_and_the_same(name: str, values: list[str]) -> None:
    written = command("ALTER", "QLOCAL", name, [parameter("DESCR", *values), flag("NOSHARE")])
    (source,) = split_commands([command_text(written)])
    assert plain(parse_command(source)) == written


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (command("CLEAR", "QLOCAL", "ORDERS"), "CLEAR QLOCAL(ORDERS)"),
        (command("CLEAR", "QLOCAL", "orders"), "CLEAR QLOCAL('orders')"),
        (command("ALTER", "QMGR", parameters=[parameter("IGQ", "DISABLED")]), "ALTER QMGR IGQ(DISABLED)"),
        (command("ALTER", "QLOCAL", "Q", [parameter("DESCR", "it's")]), "ALTER QLOCAL(Q) DESCR('it''s')"),
        (command("ALTER", "QLOCAL", "Q", [parameter("BOQNAME", "")]), "ALTER QLOCAL(Q) BOQNAME(' ')"),
        (
            command("ALTER", "QLOCAL", "Q", [parameter("MAXDEPTH", "5"), flag("SHARE")]),
            "ALTER QLOCAL(Q) MAXDEPTH(5) SHARE",
        ),
        (command("DELETE", "QLOCAL", "A) PURGE;", [flag("PURGE")]), "DELETE QLOCAL('A) PURGE;') PURGE"),
    ],
)
def test_values_are_quoted_where_they_need_it(written: Command, text: str) -> None:
    assert command_text(written) == text
