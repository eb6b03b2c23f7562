"""How often a command asks Redis: counts, no timings."""

from __future__ import annotations

import io
from typing import Any

import pytest

from igq.mqsc.session import run_session
from sharedq.redis.link import Link
from tests.support.members import TestGroup

pytestmark = pytest.mark.share


def writes_of(group: TestGroup, monkeypatch: pytest.MonkeyPatch, *commands: str) -> int:
    """The writes that a session of these commands makes to Redis."""
    writes, exchange = [0], Link._exchange_all

    def counting(link: Link, *args: Any, **options: Any) -> Any:
        writes[0] += 1
        return exchange(link, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Link, "_exchange_all", counting)
        assert run_session(group.settings, "QM1", list(commands), io.StringIO()) == 0
    return writes[0]


def test_a_define_of_a_queue_asks_redis_few_times(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.define_structure()
    define = "DEFINE QLOCAL({}) QSGDISP(SHARED) CFSTRUCT(APPL1)".format
    writes_of(group, monkeypatch, define("FIRST"))
    one = writes_of(group, monkeypatch, define("ONE"))
    three = writes_of(group, monkeypatch, define("TWO"), define("THREE"), define("FOUR"))
    assert three - one <= 2 * 6
