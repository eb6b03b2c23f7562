"""From lines to commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from igq.mqsc.language.lines import split_commands
from sharedq.display.text import visible


def texts(text: str) -> list[str]:
    return [source.text for source in split_commands(text.splitlines(keepends=True))]


def test_plus_goes_on_at_the_first_word_and_minus_at_the_first_column() -> None:
    assert texts("DEFINE QLOCAL(A) +\n     MAXDEPTH(5)\n") == ["DEFINE QLOCAL(A) MAXDEPTH(5)"]
    assert texts("DEFINE QLOCAL(A) DESCR('one-\n  two')\n") == ["DEFINE QLOCAL(A) DESCR('one  two')"]


def test_a_name_may_be_continued_in_its_middle() -> None:
    assert texts("DEFINE QLOCAL(ORD+\n   ERS)\n") == ["DEFINE QLOCAL(ORDERS)"]


def test_comments_and_blank_lines_between_continued_lines_are_skipped() -> None:
    text = "* a comment\n\nDEFINE +\n\n* another\n \t \n  QLOCAL(A)\n * not in the first column\n"
    assert texts(text) == ["DEFINE QLOCAL(A)", "* not in the first column"]


def test_a_semicolon_ends_a_command_but_not_inside_quotes() -> None:
    assert texts("DIS QMGR; DEFINE QLOCAL(A) DESCR('a;b');\n") == [
        "DIS QMGR",
        "DEFINE QLOCAL(A) DESCR('a;b')",
    ]


def test_a_command_knows_its_first_line_and_what_was_given() -> None:
    sources = list(split_commands(["* x\n", "DEF +\n", "QL(A)\n", "DIS QMGR\n"]))

    assert [source.line for source in sources] == [2, 4]
    assert sources[0].lines == ("DEF +", "QL(A)")


def test_input_that_ends_in_a_continuation_is_marked() -> None:
    (source,) = split_commands(["DEFINE QLOCAL(A) +\n"])

    assert source.is_cut


def test_a_command_is_handed_out_before_the_next_line_is_asked_for() -> None:
    asked: list[str] = []

    def terminal() -> Iterator[str]:
        for line in ("DIS QMGR\n", "END\n"):
            asked.append(line)
            yield line

    next(split_commands(terminal()))

    assert asked == ["DIS QMGR\n"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("DEFINE QLOCAL(A)\tDESCR('Größe 50 €')", "DEFINE QLOCAL(A)\tDESCR('Größe 50 €')"),
        ("\x1b[2J\x07\x7f\r\x00", r"\x1b[2J\x07\x7f\x0d\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202edrowkcab", r"\u202edrowkcab"),
        ("\udcff", r"\udcff"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_terminal_controls_are_made_visible(line: str, shown: str) -> None:
    assert visible(line, keep="\t") == shown


def numbered(*lines: str) -> str:
    return "".join(f"{line:<72}{10_000 * number:08}\n" for number, line in enumerate(lines, start=1))


def test_sequence_numbers_in_columns_73_to_80_count_for_nothing() -> None:
    text = numbered("DEFINE QLOCAL(ORDERS7) REPLACE  +", "", "       MAXDEPTH(5)", "* a comment", "DIS QMGR")

    assert texts(text) == ["DEFINE QLOCAL(ORDERS7) REPLACE  MAXDEPTH(5)", "DIS QMGR"]


@pytest.mark.parametrize(
    "text",
    [
        # Digits that end a word of the command.
        f"DEFINE QLOCAL(A) DESCR('{'x' * 48}12345678",
        # The first line has none, so there are none.
        "DIS QMGR\n" + numbered("DIS QMGR"),
        # They do not rise.
        numbered("DIS QMGR") + f"{'DIS QMGR':<72}00005000",
        # Another number of columns.
        f"{'DIS QMGR':<71}00010000",
        f"{'DIS QMGR':<73}00010000",
    ],
)
def test_other_digits_at_the_end_of_a_line_are_part_of_the_command(text: str) -> None:
    assert texts(text)[-1][-8:].isdigit()
