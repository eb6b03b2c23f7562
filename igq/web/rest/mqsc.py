"""MQSC commands: as text (runCommand) and as JSON (runCommandJSON).

They run through the code of ``igq mqsc``, for the role of the signed-in user.

Source: IBM MQ reference, "/admin/action/qmgr/{qmgrName}/mqsc".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from igq.errors import CommandError
from igq.mqsc.executor import Answer
from igq.mqsc.language.parameters import has_items, shown_by
from igq.mqsc.language.parser import Command, Parameter
from igq.mqsc.language.words import find_object, find_verb
from igq.mqsc.records import Shown, items_of, records_in
from igq.web.access.gate import Identity
from igq.web.commands import COMMAND_FAILED, give_commands
from igq.web.http.json_body import read_json
from igq.web.rest.connections import APPL_NAME
from igq.web.rest.errors import RestError, bad_body
from igq.web.site import Site
from sharedq.display.text import visible
from sharedq.mqi.constants import MQRC, CharSelector
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.inert_attributes import MODELS

#: The answer to a generic DISPLAY that finds nothing begins so.
_NOTHING_FOUND = "CSQM297I"
#: Commands of igq that IBM does not answer as JSON.
_TEXT_ONLY = (("DISPLAY", "GROUP"), ("DISPLAY", "THREAD"))


class MqscRunner:
    """Runs commands at the members of a group."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def run(self, request: Request, identity: Identity) -> Response:
        """POST: run a command. 200, also if the command failed; the body says how it ended."""
        qmgr = request.path_params["qmgr"]
        told = _object(await request.body())
        kind = told.get("type")
        if kind == "runCommand":
            parameters = told.get("parameters")
            text = parameters.get("command") if isinstance(parameters, dict) else None
            if not isinstance(text, str) or not text.strip() or set(told) - {"type", "parameters"}:
                raise bad_body('It needs {"type": "runCommand", "parameters": {"command": "..."}}.')
            return await self._answered(identity, qmgr, text)
        if kind == "runCommandJSON":
            return await self._answered(identity, qmgr, _command(told))
        raise bad_body('Its "type" must be runCommand or runCommandJSON.')

    async def _answered(self, identity: Identity, qmgr: str, commands: str | Command) -> Response:
        try:
            answers = await give_commands(self._site, identity, qmgr, commands, APPL_NAME)
        except CommandError as error:
            raise RestError(
                503 if "is not running" in str(error) else 404,
                "MQWB0009E",
                f"Could not query the queue manager {qmgr!r}: {error}",
                "The queue manager is not a running member of the group.",
                "Resubmit the request with the name of a running queue manager.",
                reason=int(MQRC.Q_MGR_NAME_ERROR),
            ) from None
        kind = commands.object_type if isinstance(commands, Command) else None
        responses = [
            each for answer in answers for each in (_texts(answer) if kind is None else _records(answer, kind))
        ]
        worst = max((each["completionCode"] for each in responses), default=0)
        return JSONResponse(
            {
                "commandResponse": responses,
                "overallCompletionCode": worst,
                "overallReasonCode": COMMAND_FAILED if worst else 0,
            }
        )


def refused_commands() -> dict[str, Any]:
    """The result of commands that were refused to the user: for a program that looks at it before the status."""
    return {"commandResponse": [], "overallCompletionCode": 2, "overallReasonCode": int(MQRC.NOT_AUTHORIZED)}


def _texts(answer: Answer) -> Iterator[dict[str, Any]]:
    codes = _codes(answer)
    yield {**codes, "text": [visible(line, keep="\t") for line in answer.lines]}


def _records(answer: Answer, kind: str) -> Iterator[dict[str, Any]]:
    """One element for each object of that kind that is displayed, or one for the command."""
    codes, records = _codes(answer), list(records_in(answer.lines))
    if not answer.fault and records:
        for record in records:
            yield {**codes, "parameters": {each.keywords[0].lower(): _value(kind, each) for each in record}}
    elif codes["completionCode"]:
        yield {**codes, "message": [visible(line, keep="\t") for line in answer.lines]}
    else:
        yield codes


def _value(kind: str, each: Shown) -> str | int | list[str]:
    """Return an attribute as MQSC shows it: a list, text, or a number, which may have a word in place of it."""
    attribute = shown_by(kind).get(each.keywords[0])
    if has_items(kind, each.keywords[0]):
        return items_of(each)
    if attribute is not None and isinstance(each.value, int) and each.value in attribute.mqsc.words.values():
        return attribute.text(each.value)
    return each.value


def _codes(answer: Answer) -> dict[str, Any]:
    if not answer.fault:
        is_nothing = any(line.startswith(_NOTHING_FOUND) for line in answer.lines)
        return {"completionCode": 2, "reasonCode": int(MQRC.UNKNOWN_OBJECT_NAME)} if is_nothing else _GOOD
    return {"completionCode": 2, "reasonCode": answer.reason or COMMAND_FAILED}


_GOOD = {"completionCode": 0, "reasonCode": 0}


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = read_json(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise bad_body("It must be a JSON object.")
    return told


def _command(told: dict[str, Any]) -> Command:
    """Read a command in JSON. Raises RestError."""
    unknown = set(told) - {"type", "command", "qualifier", "name", "parameters", "responseParameters"}
    if unknown:
        raise bad_body(f"{_words(sorted(unknown))} is not known.")
    verb = find_verb(_text(told, "command").upper())
    kind = find_object(_text(told, "qualifier").upper(), verb.name) if verb else None
    if verb is None or kind is None:
        raise bad_body("There is no such command here: igq mqsc --help lists the commands.")
    if (verb.name, kind.name) in _TEXT_ONLY:
        raise bad_body(f"{verb.name} {kind.name} is answered only as text: use runCommand.")
    name = told.get("name", "")
    # The root of the topic tree has an empty name.
    is_named = bool(name) or (kind.named_by == CharSelector.TOPIC_STRING and "name" in told)
    if not isinstance(name, str) or (
        is_named if kind.operand == "none" else kind.operand == "required" and not is_named
    ):
        raise bad_body(f"{kind.name} takes {'no name' if kind.operand == 'none' else 'a name'}.")
    parameters, wanted = told.get("parameters", {}), told.get("responseParameters", [])
    if not isinstance(parameters, dict) or not isinstance(wanted, list):
        raise bad_body("parameters must be an object, responseParameters a list.")
    read = [_parameter(key, value, kind.name) for key, value in parameters.items()]
    read += [_bare(each) for each in wanted]
    segment = f"{verb.name} {kind.name}"
    found: dict[tuple[str, bool], Parameter] = {}
    for keyword, values in read:
        each = Parameter(keyword, values, segment)
        if each.identity in found:
            raise bad_body(f"{keyword} is there twice.")
        found[each.identity] = each
    return Command(1, verb.name, kind.name, name, tuple(found.values()))


def _text(told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    if not isinstance(value, str):
        raise bad_body(f"{key} must be a text.")
    return value


def _bare(value: Any) -> tuple[str, None]:
    if not isinstance(value, str):
        raise bad_body("responseParameters must be names of attributes.")
    return value.upper(), None


def _parameter(key: str, value: Any, kind: str) -> tuple[str, tuple[str, ...] | None]:
    """A parameter: text and numbers are values, ``yes`` makes REPLACE and its like, ``no`` NOREPLACE."""
    keyword = key.upper()
    if isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("yes", "no") and keyword in _FLAGS):
        is_wanted = value if isinstance(value, bool) else value.lower() == "yes"
        return (keyword if is_wanted else f"NO{keyword}"), None
    if keyword == "WHERE" and isinstance(value, str):
        return keyword, _condition(value)
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in values):
        raise bad_body(f"{_words([key])} must be a text, a number, or a list of those.")
    return keyword, tuple(_as_mqsc(keyword, str(each), kind) for each in values)


def _condition(text: str) -> tuple[str, ...]:
    """The three parts of a WHERE. As in MQSC, what is in quotes is meant as it is."""
    *first, limit = text.split(None, 2) or [""]
    is_quoted = len(limit) > 1 and limit[0] == limit[-1] == "'"
    return (*(each.upper() for each in first), limit[1:-1].replace("''", "'") if is_quoted else limit.upper())


_FLAGS = ("REPLACE", "PURGE", "FORCE")


def _as_mqsc(keyword: str, value: str, kind: str) -> str:
    """Words of MQSC may be in small letters; text and names are meant as they are."""
    model = MODELS.get(kind)
    attribute = by_keyword(model).get(keyword) if model else None
    if attribute is None:
        return value if keyword in _NAMES else value.upper()
    try:
        attribute.parse(value)
    except ValueError:
        return value.upper()
    return value


#: Options whose values are names.
_NAMES = ("LIKE", "PROFILE", "PRINCIPAL", "CFSTRUCT", "QMNAME", "CMDSCOPE")


def _words(names: list[str]) -> str:
    return ", ".join(visible(name)[:80] for name in names)
