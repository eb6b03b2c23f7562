"""``python -m bench.programs.responder HOW URL [GROUP DATA_DIR]``: it answers requests, in lines about replies.

It never ends by itself. A reply is the request's body; a way that ends in "_correl" returns its CorrelId, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.site import persistent
from bench.streams import PlainStreams, Streams, ThinStreams
from sharedq import connect
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import Settings

QMGR = "QM1"
_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_IN_UNIT, _OUTSIDE = int(GetOption.SYNCPOINT | GetOption.WAIT), int(GetOption.WAIT)


def requests_of(how: str) -> str:
    """The name of the queue, or stream, of requests of a way to ask."""
    return f"BENCH.REQUESTS.{how.upper()}"


def replies_of(how: str) -> str:
    """That of its replies."""
    return f"BENCH.REPLIES.{how.upper()}"


def main(arguments: list[str]) -> None:
    """Answer *how* for ever."""
    how, url, *of_igq = arguments
    begin: dict[str, Callable[..., None]] = {
        **dict.fromkeys(("unit", "unit_correl"), partial(_in_units, how)),
        **dict.fromkeys(("outside", "outside_correl"), partial(_outside, how)),
        "streams": lambda: _streams(ThinStreams(url), how),
        "redis-py": lambda: _streams(PlainStreams(url), how),
    }
    begin[how](*([url, *of_igq] if of_igq else []))


def _in_units(how: str, url: str, group: str, data_dir: str) -> None:
    connection, described = connect(QMGR, settings=_settings(url, group, data_dir)), _descriptors(how)
    requests = connection.open(requests_of(how), OpenOption.INPUT_SHARED)
    replies = connection.open(replies_of(how), OpenOption.OUTPUT)
    request = requests.get(_IN_UNIT, wait_ms=-1)
    while True:
        replies.put(request.body, described(request), options=_LATER)
        request = requests.commit_and_get(_IN_UNIT, wait_ms=-1)


def _outside(how: str, url: str, group: str, data_dir: str) -> None:
    connection, described = connect(QMGR, settings=_settings(url, group, data_dir)), _descriptors(how)
    requests = connection.open(requests_of(how), OpenOption.INPUT_SHARED)
    replies = connection.open(replies_of(how), OpenOption.OUTPUT)
    while True:
        request = requests.get(_OUTSIDE, wait_ms=-1)
        replies.put(request.body, described(request))


def _descriptors(how: str) -> Callable[[Message], MQMD]:
    """Return a function that makes the descriptor of the reply to a request."""
    if how.endswith("_correl"):
        return lambda request: MQMD(persistence=1, correl_id=request.md.correl_id)
    return lambda _: persistent()


def _streams(streams: Streams, how: str) -> None:
    requests, replies = requests_of(how), replies_of(how)
    while True:
        streams.pass_on(requests, replies, streams.read(requests, 1, block_ms=0))


def _settings(url: str, group: str, data_dir: str) -> Settings:
    return Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=600_000)


if __name__ == "__main__":
    main(sys.argv[1:])
