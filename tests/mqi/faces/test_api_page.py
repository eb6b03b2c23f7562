"""The examples of docs/reference/native-api.md, as they stand there."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

import sharedq
from sharedq.objects.definitions.queues import QueueModel
from tests.support.members import TestGroup

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "native-api.md"


def test_the_examples_do_what_they_say(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.define_private("QM1", "ORDERS")
    group.repository("QM1").define(QueueModel(name="REPLY"))
    for name in ("connect", "connect_async"):
        connect = partial(getattr(sharedq, name), settings=group.group.settings)
        monkeypatch.setattr(sharedq, name, connect, raising=False)
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) > 5
    # One program, so that the error of a failing line has its number.
    exec(compile("\n".join(examples), str(PAGE), "exec"), {})
