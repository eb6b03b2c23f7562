"""The questions before commands by which something is lost."""

from __future__ import annotations

import io
from contextlib import nullcontext
from typing import Any

import pytest

from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import parse_command
from igq.web.console.actions import questions
from igq.web.console.views import actions

NOBODY: Any = None


def asked(monkeypatch: pytest.MonkeyPatch, text: str, depth: int | None = 1_204) -> str:
    monkeypatch.setattr(questions, "depth_of", lambda *_: depth)
    monkeypatch.setattr(questions, "scope_of", lambda *_: "QM1")
    monkeypatch.setattr(questions, "Repository", lambda *_: None)
    (source,) = split_commands(io.StringIO(text))
    return questions.question_of(NOBODY, "QM1", parse_command(source))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("CLEAR QLOCAL(ORDERS)", "CLEAR ORDERS: 1,204 messages are deleted"),
        ("CLE QL(ORDERS)", "CLEAR ORDERS: 1,204 messages are deleted"),
        ("DELETE QL(ORDERS)", "DELETE ORDERS: the queue is deleted"),
        ("DEL QL(ORDERS) PURGE", "DELETE ORDERS: the queue is deleted; 1,204 messages are deleted with it"),
        ("DELETE CFSTRUCT(APPL1)", "DELETE APPL1: the CFSTRUCT is deleted"),
        ("DELETE TOPIC(T)", "DELETE T: the TOPIC is deleted"),
        (
            "CLEAR TOPICSTR('a/b') CLRTYPE(RETAINED)",
            "CLEAR a/b: the retained publication of this topic string is deleted",
        ),
        ("RECOVER CFSTRUCT(A) TYPE(PURGE)", "RECOVER A: the structure becomes empty, all of its messages are deleted"),
        ("STOP QMGR MODE(FORCE)", "STOP QMGR: QM1 stops at once"),
        ("STOP QMGR", "STOP QMGR: QM1 stops as soon as its programs have disconnected"),
        *((text, "") for text in ("DISPLAY QL(*)", "ALTER QL(A) DESCR('PURGE')", "START CHANNEL(A)", "STOP CMDSERV")),
        *((text, "") for text in ("DEFINE QL(A)", "MOVE QL(A) TOQLOCAL(B)", "BACKUP CFSTRUCT(A)", "PING QMGR")),
    ],
)
def test_a_question_names_what_is_lost(monkeypatch: pytest.MonkeyPatch, text: str, question: str) -> None:
    assert asked(monkeypatch, text) == question


def test_a_long_text_of_commands_has_only_so_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def depth_of(_group: object, _qmgr: str, name: str) -> int:
        looks.append(name)
        return 2

    asked(monkeypatch, "CLEAR QL(A)")
    monkeypatch.setattr(questions, "depth_of", depth_of)
    monkeypatch.setattr(actions, "opened", lambda _: nullcontext())
    found = actions.read_questions(NOBODY, "QM1", "CLEAR QL(A)\nDISPLAY QL(A)\n" * 1_000)
    assert found == ["CLEAR A: 2 messages are deleted"] * 20 + ["and further commands of this kind"]
    assert len(looks) == 21


def test_a_question_says_the_number_only_if_somebody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "CLEAR QL(A)", 1) == "CLEAR A: 1 message is deleted"
    assert asked(monkeypatch, "CLEAR QL(A)", None) == "CLEAR A: its messages are deleted"
