"""Commands of signed-in users: on whose behalf they are given."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from igq.web.commands import give_commands
from sharedq.members.event_notes import Giver
from sharedq.mqi.constants.pcf import EventOrigin


def test_a_command_names_its_user_and_that_it_came_by_http() -> None:
    given: list[Giver] = []

    async def work(_: Any, *arguments: Any) -> list[Any]:
        given.extend(each for each in arguments if isinstance(each, Giver))
        return []

    site: Any = SimpleNamespace(settings=None, work=work, record=lambda *_: None, may_note=lambda _: True)
    identity: Any = SimpleNamespace(user="anna", host="desk")
    asyncio.run(give_commands(site, identity, "QM1", "DISPLAY QMGR", "igq REST"))
    (giver,) = given
    assert (giver.user, giver.host, giver.appl, giver.origin) == ("anna", "desk", "igq REST", EventOrigin.REST)
