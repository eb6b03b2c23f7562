"""MQSC: a box for commands at a manager, with completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.mqsc.executor import Answer
from igq.mqsc.language.parameters import REPORTS
from igq.mqsc.language.parser import Command
from igq.mqsc.language.words import OBJECTS, TAKES, VERBS
from igq.operations.command_log import CONSOLE
from igq.web.access.gate import Identity, Refused
from igq.web.access.roles import least_role
from igq.web.access.users import Role
from igq.web.commands import give_commands
from igq.web.console.views.view import action_route, data_route, json_body, text_of
from igq.web.site import Site
from sharedq.display.text import visible
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.queues import QUEUE_KINDS

_MODELS: Mapping[str, Sequence[type[BaseModel]]] = {
    **{kind: (model,) for kind, model in MODELS.items()},
    "QUEUE": tuple(QUEUE_KINDS.values()),
}
#: The objects whose figures can be asked for one by one.
_HAVE_FIGURES = ("QSTATUS", "CONN")
_SCOPES = ("QMGR", "COPY", "GROUP", "SHARED")
#: Of objects that are on no structure.
_OF_THE_GROUP = ("LIVE", "ALL", "QMGR", "COPY", "GROUP", "PRIVATE")
#: Keywords beside attributes, with their words: of a verb, and of one with an object.
_OPTIONS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "DEFINE": {"REPLACE": (), "NOREPLACE": ()},
    "DEFINE QUEUE": {"LIKE": (), "QSGDISP": _SCOPES},
    "ALTER QUEUE": {"QSGDISP": (*_SCOPES, "PRIVATE"), "FORCE": ()},
    "DELETE QUEUE": {"QSGDISP": (*_SCOPES, "PRIVATE")},
    "DELETE QLOCAL": {"PURGE": (), "NOPURGE": ()},
    "CLEAR QLOCAL": {"QSGDISP": ("PRIVATE", "SHARED")},
    "MOVE QLOCAL": {"TOQLOCAL": (), "TYPE": ("MOVE", "ADD"), "QSGDISP": ("PRIVATE", "SHARED")},
    "DISPLAY": {"ALL": (), "WHERE": ()},
    "DISPLAY QUEUE": {"QSGDISP": ("LIVE", "ALL", *_SCOPES, "PRIVATE"), "CURDEPTH": (), "IPPROCS": (), "OPPROCS": ()},
    **{
        f"DISPLAY {kind}": {"QSGDISP": _OF_THE_GROUP}
        for kind in ("TOPIC", "PROCESS", "NAMELIST", "CHANNEL", "LISTENER")
    },
    "DISPLAY QSTATUS": {"TYPE": ("QUEUE", "HANDLE"), "OPENTYPE": ("ALL", "INPUT", "OUTPUT")},
    "DISPLAY CONN": {"TYPE": ("CONN", "HANDLE", "ALL", "*")},
    "DISPLAY THREAD": {"TYPE": ("ACTIVE", "INDOUBT", "REGIONS", "*"), "QMNAME": ()},
    "DISPLAY CFSTATUS": {"TYPE": ("SUMMARY", "BACKUP")},
    "BACKUP CFSTRUCT": {"EXCLINT": ()},
    "RECOVER CFSTRUCT": {"TYPE": ("NORMAL", "PURGE")},
    "RESOLVE INDOUBT": {"ACTION": ("COMMIT", "BACKOUT"), "NID": (), "QMNAME": ()},
    "STOP CONN": {"EXTCONN": ()},
    "STOP QMGR": {"MODE": ("QUIESCE", "FORCE", "RESTART")},
    "SET AUTHREC": {
        "PROFILE": (),
        "OBJTYPE": ("QUEUE",),
        "PRINCIPAL": (),
        "AUTHADD": ("PUT", "GET", "BROWSE", "NONE"),
        "AUTHRMV": ("PUT", "GET", "BROWSE"),
    },
    "DELETE AUTHREC": {"PROFILE": (), "OBJTYPE": ("QUEUE",), "PRINCIPAL": ()},
    "DISPLAY AUTHREC": {"PROFILE": (), "OBJTYPE": ("QUEUE",), "PRINCIPAL": ()},
}


def routes() -> Sequence[BaseRoute]:
    """The words of the language, and commands."""
    # Each command needs the role that its verb says.
    return [data_route("/mqsc/words", _words), action_route("/mqsc", _run, Role.VIEWER)]


async def run_command(site: Site, identity: Identity, qmgr: str, commands: str | Command) -> list[dict[str, Any]]:
    """Do commands, and return for each its ``lines``, ``is_done``, and the ``reason`` why not, or 0."""
    return [_told(each) for each in await give_commands(site, identity, qmgr, commands, CONSOLE)]


async def _run(site: Site, identity: Identity, request: Request) -> dict[str, Any]:
    told = await json_body(request)
    commands = text_of(told, "commands")
    if not commands.strip():
        raise Refused(400, "there is no command")
    return {"answers": await run_command(site, identity, text_of(told, "qmgr"), commands)}


def _told(answer: Answer) -> dict[str, Any]:
    lines = [visible(line, keep="\t") for line in answer.lines]
    return {"lines": lines, "is_done": not answer.fault, "reason": answer.reason}


async def _words(_site: Site, identity: Identity, _: Request) -> dict[str, Any]:
    """Verbs that the user may give, objects, and for each verb and object the keywords with their words."""
    verbs = [verb for verb in VERBS if verb.name != "END" and identity.role >= least_role(verb.name)]
    return {
        "verbs": [{"name": each.name, "shortest": each.shortest, "objects": TAKES[each.name]} for each in verbs],
        "objects": [{"name": each.name, "shortest": each.shortest, "operand": each.operand} for each in OBJECTS],
        "keywords": {verb.name: {kind: keywords_of(verb.name, kind) for kind in TAKES[verb.name]} for verb in verbs},
    }


@cache
def keywords_of(verb: str, kind: str) -> Mapping[str, Sequence[str]]:
    """The keywords that a command may have, each with the words that it takes, if it takes words."""
    found: dict[str, Sequence[str]] = {}
    if verb in ("DEFINE", "ALTER", "DISPLAY"):
        for model in _MODELS.get(kind, ()):
            for keyword, attribute in by_keyword(model).items():
                if verb == "DISPLAY" or not attribute.mqsc.is_output:
                    found[keyword] = () if attribute.mqsc.is_bare else tuple(attribute.mqsc.words)
    if verb == "DISPLAY":
        for figures in REPORTS[kind].values() if kind in _HAVE_FIGURES else ():
            found |= {each.keyword: () for each in figures if each.keyword not in found}
    is_queue = kind == "QUEUE" or kind in QUEUE_KINDS
    # DISPLAY THREAD and CMDSERV show all that they have.
    general = "" if kind in ("THREAD", "CMDSERV") else verb
    for command in (general, f"{verb} QUEUE" if is_queue else "", f"{verb} {kind}"):
        found |= _OPTIONS.get(command, {})
    return dict(sorted(found.items()))
