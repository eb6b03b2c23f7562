"""The OpenAPI description of the REST interface: what a program may send, and what it gets."""

from __future__ import annotations

from typing import Any

from igq import __version__
from igq.web.rest.messaging import MEDIA_TYPES

_ID = {"type": "string", "pattern": "^ID:[0-9A-Fa-f]{48}$"}
#: A text that is no encoded identifier, or one that is.
_CORRELATION_ID = {"type": "string", "pattern": "^(ID:[0-9A-Fa-f]{48}|[A-HJ-Za-z0-9][A-Za-z0-9._-]{0,23})$"}
_PUT_HEADERS: dict[str, dict[str, Any]] = {
    "ibm-mq-md-correlationId": _CORRELATION_ID,
    "ibm-mq-md-expiry": {"type": "string", "pattern": "^(unlimited|[1-9][0-9]{0,10})$"},
    "ibm-mq-md-persistence": {"type": "string", "enum": ["persistent", "nonPersistent"]},
    "ibm-mq-md-priority": {"type": "string", "pattern": "^(asDestination|[0-9])$"},
    "ibm-mq-md-replyTo": {"type": "string", "pattern": "^[A-Za-z0-9._/%]{1,48}(@[A-Za-z0-9._/%]{1,48})?$"},
    "ibm-mq-usr": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,20};[a-z]{0,9};string$"},
}
_GOT_HEADERS = ("ibm-mq-md-messageId", *_PUT_HEADERS)


def description() -> dict[str, Any]:
    """The description, as JSON has it."""
    queue = "/ibmmq/rest/v3/messaging/qmgr/{qmgrName}/queue/{queueName}"
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "igq REST interface",
            "version": __version__,
            "description": "IBM MQ's messaging REST API version 3, and its resource for MQSC commands.",
        },
        "paths": {
            f"{queue}/message": {
                "parameters": [_path("qmgrName"), _path("queueName")],
                "post": _put(),
                "get": _browse(),
                "delete": _get(),
            },
            f"{queue}/messagelist": {"parameters": [_path("qmgrName"), _path("queueName")], "get": _list()},
            "/ibmmq/rest/v3/admin/action/qmgr/{qmgrName}/mqsc": {"parameters": [_path("qmgrName")], "post": _mqsc()},
            "/ibmmq/rest/v3/login": {"get": _logged_in(), "post": _log_in(), "delete": _log_out()},
        },
        "components": {
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
            "schemas": _SCHEMAS,
        },
        "security": [{"basic": []}, {"token": []}],
    }


def _put() -> dict[str, Any]:
    text = {"schema": {"type": "string", "maxLength": 1_000}}
    return {
        "operationId": "putMessage",
        "summary": "Put a message on a queue.",
        "parameters": [_CSRF, *(_header(name, schema) for name, schema in _PUT_HEADERS.items())],
        "requestBody": {"required": True, "content": {f"{each}; charset=utf-8": text for each in MEDIA_TYPES}},
        "responses": {
            "201": {"description": "The message is on the queue.", "headers": _told("ibm-mq-md-messageId")},
            **_failures(400, 401, 403, 404, 405, 408, 413, 415, 429, 502, 503),
        },
    }


def _browse() -> dict[str, Any]:
    return {
        "operationId": "browseMessage",
        "summary": "Return the first message that matches, and leave it on the queue.",
        "parameters": _MATCH,
        "responses": {**_one_message(), **_failures(400, 401, 403, 404, 405, 429, 501, 502, 503)},
    }


def _get() -> dict[str, Any]:
    wait = {"type": "integer", "minimum": 0, "maximum": 100}
    return {
        "operationId": "getMessage",
        "summary": "Take the first message that matches off the queue. Its get is committed after the client has it.",
        "parameters": [_CSRF, *_MATCH, _query("wait", wait)],
        "responses": {**_one_message(), **_failures(400, 401, 403, 404, 405, 429, 501, 502, 503)},
    }


def _list() -> dict[str, Any]:
    limit = {"type": "integer", "minimum": 1, "maximum": 1_000}
    return {
        "operationId": "listMessages",
        "summary": "List the first messages that match: 10 if no limit is given, at most 1000.",
        "parameters": [*_MATCH, _query("limit", limit)],
        "responses": {"200": _json("MessageList"), **_failures(400, 401, 403, 404, 429, 502, 503)},
    }


def _mqsc() -> dict[str, Any]:
    return {
        "operationId": "runCommand",
        "summary": "Run an MQSC command, given as text or as JSON.",
        "parameters": [_CSRF],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Command")}}},
        "responses": {"200": _json("CommandResponses"), **_failures(400, 401, 403, 404, 408, 413, 429, 503)},
    }


def _log_in() -> dict[str, Any]:
    return {
        "operationId": "logIn",
        "summary": "Begin a session, whose cookie stands for user and password.",
        "security": [],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Credentials")}}},
        "responses": {
            "204": {"description": "The answer sets a cookie."},
            **_failures(400, 401, 403, 408, 413, 415, 429, 503),
        },
    }


def _logged_in() -> dict[str, Any]:
    return {
        "operationId": "loggedIn",
        "summary": "Tell the user of the request.",
        "responses": {"200": _json("LoggedIn"), **_failures(401, 403, 429, 503)},
    }


def _log_out() -> dict[str, Any]:
    return {
        "operationId": "logOut",
        "summary": "End the session.",
        "parameters": [_CSRF],
        "responses": {"204": {"description": "The session is over."}, **_failures(401, 403, 429, 503)},
    }


def _path(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Z][A-Z0-9.]{0,47}$"},
    }


def _query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def _header(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": schema}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(name: str) -> dict[str, Any]:
    return {"description": "Done.", "content": {"application/json": {"schema": _ref(name)}}}


def _told(*names: str) -> dict[str, Any]:
    return {name: {"schema": {"type": "string"}} for name in names}


def _one_message() -> dict[str, Any]:
    text = {"text/plain; charset=utf-8": {"schema": {"type": "string"}}}
    return {
        "200": {"description": "The text of the message.", "content": text, "headers": _told(*_GOT_HEADERS)},
        "204": {"description": "No message matches."},
    }


def _failures(*statuses: int) -> dict[str, Any]:
    # Limits for slow and long requests are answered as text, before anything looks at the resource.
    plain = {"text/plain": {"schema": {"type": "string"}}}
    errors = {"application/json": {"schema": _ref("Errors")}}
    return {
        str(each): {"description": "Refused.", "content": plain if each in (408, 413) else errors} for each in statuses
    }


_CSRF = {
    "name": "ibm-mq-rest-csrf-token",
    "in": "header",
    "required": True,
    "description": "Any value, also none.",
    "schema": {"type": "string", "pattern": "^[a-z]{0,8}$"},
}
_MATCH = [_query("messageId", _ID), _query("correlationId", _CORRELATION_ID)]
_CODES: dict[str, Any] = {"completionCode": {"type": "integer"}, "reasonCode": {"type": "integer"}}
_LINES = {"type": "array", "items": {"type": "string"}}
_NAME_OR_PATTERN = {"type": "string", "maxLength": 48}
_SCHEMAS: dict[str, Any] = {
    "Errors": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["type", "msgId", "message", "explanation", "action", *_CODES],
                    "properties": {
                        **{each: {"type": "string"} for each in ("type", "message", "explanation", "action")},
                        "msgId": {"type": "string", "pattern": "^(MQWB|IGQB)[0-9]{4}[IWES]$"},
                        **_CODES,
                    },
                },
            }
        },
    },
    "MessageList": {
        "type": "object",
        "required": ["messages"],
        "properties": {
            "messages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["messageId", "format"],
                    "properties": {"messageId": _ID, "correlationId": _ID, "format": {"type": "string"}},
                },
            }
        },
    },
    "Command": {
        "oneOf": [
            {
                "type": "object",
                "required": ["type", "parameters"],
                "additionalProperties": False,
                "properties": {
                    "type": {"type": "string", "enum": ["runCommand"]},
                    "parameters": {
                        "type": "object",
                        "required": ["command"],
                        "properties": {"command": {"type": "string", "minLength": 1, "pattern": "\\S"}},
                    },
                },
            },
            {
                "type": "object",
                "required": ["type", "command", "qualifier"],
                "additionalProperties": False,
                "properties": {
                    "type": {"type": "string", "enum": ["runCommandJSON"]},
                    "command": {"type": "string"},
                    "qualifier": {"type": "string"},
                    "name": _NAME_OR_PATTERN,
                    "parameters": {"type": "object"},
                    "responseParameters": _LINES,
                },
            },
        ]
    },
    "CommandResponses": {
        "type": "object",
        "required": ["commandResponse", "overallCompletionCode", "overallReasonCode"],
        "properties": {
            "commandResponse": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": [*_CODES],
                    "properties": {**_CODES, "text": _LINES, "message": _LINES, "parameters": {"type": "object"}},
                },
            },
            "overallCompletionCode": {"type": "integer"},
            "overallReasonCode": {"type": "integer"},
        },
    },
    "Credentials": {
        "type": "object",
        "required": ["username", "password"],
        "properties": {"username": {"type": "string"}, "password": {"type": "string"}},
    },
    "LoggedIn": {
        "type": "object",
        "required": ["user"],
        "properties": {
            "user": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "role"],
                    "properties": {"name": {"type": "string"}, "role": _LINES},
                },
            }
        },
    },
}
