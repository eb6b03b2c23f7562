"""Names and texts that others wrote, in the views that show most of them: shown as text, never taken for HTML."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.browser import HOSTILE, looking
from tests.support.console import Console
from tests.web.views.conftest import run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Puts a message whose descriptor and headers are all hostile.
MESSAGE = """
import sys, sharedq
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
text = sys.argv[1].encode()
with sharedq.connect("QM1") as connection:
    queue = connection.open("NASTY%/.Q", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
    md = MQMD(
        version=2, format=b"<b>x</b>", put_appl_name=text[:28], user_identifier=b"<i>user</i>", reply_to_q=text[:48],
        reply_to_q_mgr=text[:48], msg_id=text[:24], correl_id=text[:24], put_date=b"<u>date<", put_time=b"<s>time<",
        appl_identity_data=text[:32], appl_origin_data=b"<p>x",
    )
    queue.put(text, md, options=PutOption.SET_ALL_CONTEXT)
"""
#: The words of a manager and its agent on themselves, as if they were taken over; and their words before.
TOLD = """
import json, sys
from sharedq.members.group import Group
from sharedq.settings.loader import load_settings
group, text, before = Group(load_settings()), sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
client, keys = group.client(), group.keys
if before:
    member, agent = json.loads(before)
else:
    member, agent = client.hget(keys.members, "QM2").decode(), client.hget(keys.agents, "QM2").decode()
    print(json.dumps([member, agent]))
    movers = [dict(queue=text, state="RETRY", short_retries=1, long_retries=0, next_retry_ms=0, delivered=0,
        batches=0, last_error=text)]
    member = json.dumps(json.loads(member) | {"host": text, "version": text})
    agent = json.dumps(json.loads(agent) | {"last_error": text, "movers": movers})
client.hset(keys.members, "QM2", member)
client.hset(keys.agents, "QM2", agent)
group.leave()
"""


def test_a_message_with_a_hostile_descriptor_is_shown_as_text(console: Console, browser: Browser) -> None:
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL('NASTY%/.Q') REPLACE DESCR('<b>bold</b>')")
    run_program(console, MESSAGE, HOSTILE)
    with looking(browser, console, "vera", "queues") as page:
        page.locator(".inner a").filter(has_text="NASTY%/.Q").press("Enter")
        line = page.locator("table.messages tbody tr")
        line.wait_for()
        assert HOSTILE[:28] in line.inner_text()
        assert "<i>user</i>" in line.inner_text()
        line.get_by_role("button").press("Enter")
        page.wait_for_selector("h2:has-text('Descriptor')")
        shown = page.locator("main").inner_text()
        assert shown.count(HOSTILE[:28]) >= 4
        assert page.locator("main b, main i, main u, main s").count() == 0


def test_a_member_that_tells_hostile_things_is_shown_as_text(console: Console, browser: Browser) -> None:
    before = run_program(console, TOLD, HOSTILE)
    try:
        with looking(browser, console, "vera", "group") as page:
            row = page.locator("tr").filter(has_text="QM2")
            row.filter(has_text=HOSTILE).wait_for()
            page.wait_for_selector(f'.troubles li:has-text("Mover of {HOSTILE}")')
    finally:
        run_program(console, TOLD, HOSTILE, json.dumps(json.loads(before)))
