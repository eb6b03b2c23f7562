"""Errors as IBM's REST interface answers them.

Message ids that begin with MQWB are IBM's. IBM does not document one for each error here; the others begin with IGQB.

Source: IBM MQ reference, "REST API error handling", "REST API messages".
"""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from igq.web.access.gate import Refused
from sharedq.display.text import visible
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

_RESUBMIT = "Resubmit the request, correcting any issues."


class RestError(Exception):
    """A request that fails.

    Attributes:
        status: of HTTP.
        reason: IBM MQ's reason code; 0 if it has none for this.
        also: what the body of the answer has besides.
    """

    def __init__(
        self,
        status: int,
        msg_id: str,
        text: str,
        explanation: str,
        action: str = _RESUBMIT,
        *,
        reason: int = 0,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.status, self.msg_id, self.text = status, msg_id, text
        self.explanation, self.action, self.reason = explanation, action, reason
        self.headers = headers or {}
        self.also: dict[str, Any] = {}

    def response(self) -> Response:
        """The answer."""
        return JSONResponse({"error": [self._element()], **self.also}, self.status, self.headers)

    def _element(self) -> dict[str, Any]:
        return {
            "type": "rest",
            "msgId": self.msg_id,
            "message": f"{self.msg_id}: {visible(self.text)}",
            "explanation": self.explanation,
            "action": self.action,
            "completionCode": 2 if self.reason else 0,
            "reasonCode": self.reason,
        }


def bad_header(name: str, allowed: str) -> RestError:
    """The error for a header of a request."""
    return RestError(
        400,
        "MQWB0302E",
        f"The header {name} has a value that is not valid.",
        f"It can be: {allowed}.",
        "Resubmit the request with a valid value.",
    )


def bad_parameter(name: str, allowed: str) -> RestError:
    """The error for a query parameter."""
    return RestError(400, "IGQB0001E", f"The query parameter {name} is not valid.", f"It can be: {allowed}.")


def bad_body(why: str) -> RestError:
    """The error for the body of a request."""
    return RestError(400, "IGQB0002E", "The body of the request is not valid.", why)


#: Reason -> status, message id, explanation.
_STATUSES: dict[int, tuple[int, str, str]] = {
    MQRC.Q_MGR_NAME_ERROR: (404, "MQWB0009E", "There is no such queue manager in the group."),
    MQRC.Q_MGR_NOT_AVAILABLE: (503, "MQWB0300E", "The queue manager is not running, or Redis cannot be reached."),
    MQRC.Q_MGR_QUIESCING: (503, "MQWB0300E", "The queue manager is stopping."),
    MQRC.Q_MGR_STOPPING: (503, "MQWB0300E", "The queue manager is stopping."),
    MQRC.CONNECTION_BROKEN: (503, "MQWB0300E", "The connection was lost. Whether the request was done is unknown."),
    MQRC.UNKNOWN_OBJECT_NAME: (404, "MQWB0300E", "There is no such queue."),
    MQRC.OBJECT_NAME_ERROR: (404, "MQWB0300E", "No queue can have this name."),
    MQRC.GET_INHIBITED: (405, "MQWB0303E", "The queue does not allow gets."),
    MQRC.PUT_INHIBITED: (405, "MQWB0303E", "The queue does not allow puts."),
    MQRC.NOT_AUTHORIZED: (403, "MQWB0300E", "The user may not do that."),
    MQRC.MSG_TOO_BIG_FOR_Q: (400, "MQWB0303E", "The message is longer than the queue allows."),
    MQRC.MSG_TOO_BIG_FOR_Q_MGR: (400, "MQWB0303E", "The message is longer than the queue manager allows."),
}


#: Status -> message id and explanation for a request that reaches no resource, or may not.
_REFUSALS = {
    401: ("MQWB0104E", "The request needs a user and password, a token, or the cookie of a session."),
    403: ("MQWB0108E", "The user has not the role that the request needs, or the request may come from another site."),
    404: ("IGQB0004E", "There is no such resource."),
    405: ("IGQB0004E", "The resource does not have this method."),
    429: ("IGQB0005E", "There were too many failures."),
    500: ("MQWB0000E", "An error that was not foreseen. The log of the console has the details."),
}


def from_refusal(refused: Refused) -> RestError:
    """The error for a request that is refused before it is looked at."""
    msg_id, explanation = _REFUSALS.get(refused.status, ("IGQB0004E", "The request is refused."))
    headers = dict(refused.headers)
    if refused.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="igq", charset="UTF-8"'
    return RestError(refused.status, msg_id, f"{refused.text}.", explanation, headers=headers)


def from_status(status: int, headers: dict[str, str]) -> RestError:
    """The error for a status of HTTP."""
    msg_id, explanation = _REFUSALS.get(status, ("IGQB0004E", "The request is refused."))
    return RestError(status, msg_id, f"HTTP {status}.", explanation, headers=headers)


def from_exception(error: Exception) -> RestError:
    """The error for what the group cannot do now."""
    if isinstance(error, MQIError):
        return from_reason(error)
    text = " ".join(str(error).split())
    return RestError(503, "MQWB0300E", text, "The group cannot be reached, or its users cannot be read.")


def from_reason(error: MQIError) -> RestError:
    """The error for a call of the MQI that failed."""
    status, msg_id, explanation = _STATUSES.get(
        error.reason, (502, "MQWB0303E", "The queue manager could not do what was asked.")
    )
    return RestError(status, msg_id, str(error), explanation, reason=int(error.reason))
