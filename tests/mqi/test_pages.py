"""Every block of Python in docs/how-to/consume.md and publish-and-subscribe.md runs, after those before it."""

from __future__ import annotations

import ast
import asyncio
import re
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from sharedq.callbacks.calls import mqctl
from sharedq.mqi.constants.callbacks import CallbackOperation
from tests.mqi.topics.scene import bodies, open_input
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.share

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


class EnoughError(Exception):
    """Ends the loop of an example."""


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (PAGES / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def run(block: str, names: dict[str, Any]) -> None:
    """Run a block, which may await."""
    code = compile(block, "docs/how-to", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)
    if isawaitable(done):

        async def wait() -> None:
            await done

        asyncio.run(wait())


@pytest.fixture
def programs(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> TestGroup:
    """The environment of programs of the group, and the queues of the pages."""
    group.define_structure()
    for name in ("ORDERS", "RETURNS"):
        group.define_shared(name)
    monkeypatch.setenv("IGQ_GROUP", group.settings.group)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))
    monkeypatch.setenv("IGQ_DATA_DIR", str(group.settings.data_dir))
    return group


def test_the_page_about_consumers(programs: TestGroup) -> None:
    imports, loop, coroutine, callback = blocks("consume.md")
    names, seen = dict[str, Any](), list[bytes]()
    orders = open_input(programs.connect(), "ORDERS")
    for body in (b"1", b"2", b"3"):
        orders.put(body)

    def process(body: bytes) -> None:
        seen.append(body)
        if len(seen) == 1:
            raise EnoughError

    async def process_later(body: bytes) -> None:
        process(body)
        raise EnoughError

    run(imports, names)
    names["process"] = process
    with suppress(EnoughError):
        run(loop, names)
    names["process"] = process_later
    with suppress(EnoughError):
        run(coroutine, names)
    assert seen == [b"1", b"1"]
    names["handle"] = seen.append
    run(callback, names)
    until(lambda: seen[2:] == [b"1", b"2", b"3"], "the consumer has all")
    until(lambda: on_queue(programs, "ORDERS", "APPL1") == [], "the consumer has committed")
    mqctl(names["connection"].connection, CallbackOperation.STOP)
    names["connection"].disconnect()


def test_the_page_about_topics(programs: TestGroup) -> None:
    publishing, subscribing = blocks("publish-and-subscribe.md")
    names = dict[str, Any]()
    subscription = programs.connect().subscribe("price/#")
    run(publishing, names)
    assert bodies(subscription) == [b"1.20", b"1.25"]
    run(subscribing, names)
    assert names["message"].body == b"1.25"
    names["connection"].disconnect()


@pytest.mark.parametrize("page", ["consume.md", "publish-and-subscribe.md"])
def test_names_in_the_text_are_imported(page: str) -> None:
    """A reader who tries what stands between the blocks finds the names."""
    imported = set(
        re.findall(r"\w+", " ".join(re.findall(r"^from .* import .*$", "\n".join(blocks(page)), flags=re.M)))
    )
    text = re.sub(r"^```.*?^```", "", (PAGES / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    used = set(re.findall(r"`[^`\n]*?\b([A-Z]\w+Option|MQSD|MQMD|MQGMO)\b[.(]", text))
    assert used <= imported
