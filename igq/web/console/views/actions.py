"""Actions: the form of one, the command that it will run, and the run. `igq.web.console.actions` has the table."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import MqscSyntaxError, UnsupportedCommandError, parse_command
from igq.operations.command_log import CONSOLE
from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.console.actions.action import Action, Asked, Plan
from igq.web.console.actions.places import opened
from igq.web.console.actions.questions import question_of
from igq.web.console.actions.table import action_named
from igq.web.console.views.mqsc import run_command
from igq.web.console.views.view import action_route, json_body, text_of
from igq.web.site import Site
from sharedq.members.event_notes import Giver
from sharedq.mqi.constants.pcf import EventOrigin
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

#: Questions before one text of commands.
_MOST_QUESTIONS = 20


def routes() -> Sequence[BaseRoute]:
    """Form, plan and run of an action, each with its name in the path; and the questions before a text of commands.

    Each action needs the role that the table says.
    """
    return [
        action_route("/actions/{name}/form", _form, Role.VIEWER),
        action_route("/actions/{name}/plan", _plan, Role.VIEWER),
        action_route("/actions/{name}/run", _run, Role.VIEWER),
        action_route("/mqsc/questions", _questions, Role.VIEWER),
    ]


async def _asked(identity: Identity, request: Request) -> tuple[Action, Asked]:
    action = action_named(identity, request.path_params["name"])
    return action, Asked(await json_body(request))


async def _form(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    """The fields of the form for one row."""
    action, asked = await _asked(identity, request)
    return {"fields": [asdict(each) for each in await site.work(action.form, site.settings, asked)]}


async def _plan(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    """The command that the action will run, and the question before it; nothing is changed."""
    action, asked = await _asked(identity, request)
    plan, question = await site.work(_planned, site.settings, action, asked)
    return {"qmgr": plan.qmgr, "text": plan.text, "question": question}


def _planned(settings: Settings, action: Action, asked: Asked) -> tuple[Plan, str]:
    plan = action.plan(settings, asked)
    if plan.question is not None or plan.command is None:
        return plan, plan.question or ""
    with opened(settings) as group:
        return plan, question_of(group, plan.qmgr, plan.command)


async def _run(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    """Do it. The answers are those of commands: ``lines``, ``is_done`` and ``reason``.

    Where ``seen`` names the manager and the command that the user has seen, nothing else is run.
    """
    action, asked = await _asked(identity, request)
    plan = await site.work(action.plan, site.settings, asked)
    if asked.has("seen") and asked.list("seen") != [plan.qmgr, plan.text]:
        raise Refused(409, "the command is no longer the one shown, for the group has changed: look again")
    if plan.command is not None:
        return {"answers": await run_command(site, identity, plan.qmgr, plan.command)}
    assert plan.deed is not None
    giver = Giver(identity.user, identity.host, CONSOLE, origin=int(EventOrigin.REST))
    shown = f"{plan.qmgr}: {plan.shown}"
    try:
        outcome = await site.work(plan.deed, site.settings, giver)
    except (MQIError, DeploymentError) as error:
        site.record(identity, shown, " ".join(str(error).split()))
        raise
    site.record(identity, shown, outcome.result)
    return {"answers": [{"lines": outcome.lines, "is_done": outcome.is_done, "reason": 0}]}


async def _questions(site: Site, _: Identity, request: Request) -> dict[str, Any]:
    """The questions before some commands by which something is lost."""
    told = await json_body(request)
    return {
        "questions": await site.work(read_questions, site.settings, text_of(told, "qmgr"), text_of(told, "commands"))
    }


def read_questions(settings: Settings, qmgr: str, commands: str) -> list[str]:
    """Return a question for each command that deletes or ends something; a command that is wrong has none."""
    found: list[str] = []
    with opened(settings) as group:
        for source in split_commands(io.StringIO(commands)):
            try:
                question = question_of(group, qmgr, parse_command(source))
            except (MqscSyntaxError, UnsupportedCommandError):
                continue
            if question and len(found) == _MOST_QUESTIONS:
                # Each question costs a look at Redis, and a text of commands may be long.
                return [*found, "and further commands of this kind"]
            if question:
                found.append(question)
    return found
