"""One message at a time: put, get without waiting, and both in one unit of work."""

from __future__ import annotations

from bench.harness import BODY, Contender, compare
from bench.rows import Row, ratio_row
from bench.site import Site, drain, fill, persistent
from bench.streams import Streams
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption, PutOption

_GET = int(GetOption.SYNCPOINT)
_PUT_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
SOURCE, TARGET = "bench:source", "bench:target"


def measure_put(site: Site) -> list[Row]:
    """MQPUT outside a unit of work; XADD."""
    costs = compare(
        {
            "igq": put_contender(site.open_new(site.connect())),
            "streams": _stream_put(site, site.streams),
            "redis-py": _stream_put(site, site.plain_streams),
        },
        site.client,
        site.effort,
    )
    return [ratio_row("put", 0.7, costs)]


def measure_get(site: Site) -> list[Row]:
    """MQGET outside a unit of work, no waiting; XREADGROUP, then XACK."""
    costs = compare(
        {
            "igq": get_contender(site.open_new(site.connect())),
            "streams": _stream_get(site, site.streams),
            "redis-py": _stream_get(site, site.plain_streams),
        },
        site.client,
        site.effort,
    )
    return [ratio_row("get without waiting", 1.5, costs)]


def measure_transaction(site: Site) -> list[Row]:
    """A get and a put in one unit of work, committed; XREADGROUP, then XADD and XACK in MULTI."""
    connection = site.connect()
    source, target = site.open_new(connection), site.open_new(connection)

    def prepare(count: int) -> None:
        drain(target)
        fill(source, count)

    def run(count: int) -> None:
        for _ in range(count):
            message = source.commit_and_get(_GET)
            target.put(message.body, persistent(), options=_PUT_LATER)
        connection.commit()

    costs = compare(
        {
            "igq": Contender(prepare, run),
            "streams": _stream_transaction(site, site.streams),
            "redis-py": _stream_transaction(site, site.plain_streams),
        },
        site.client,
        site.effort,
    )
    return [ratio_row("get and put in one unit of work", 1.0, costs)]


def measure_journal(site: Site) -> list[Row]:
    """Put and get again, with every event in the journal."""
    group = site.new_group(journal=True)
    connection = site.connect(group)
    put = compare(
        {"igq": put_contender(site.open_new(connection, group)), "streams": _stream_put(site, site.streams)},
        site.client,
        site.effort,
    )
    get = compare(
        {"igq": get_contender(site.open_new(connection, group)), "streams": _stream_get(site, site.streams)},
        site.client,
        site.effort,
    )
    return [ratio_row("put, journal on", None, put), ratio_row("get, journal on", None, get)]


def put_contender(queue: Queue) -> Contender:
    """Puts persistent messages one by one."""

    def run(count: int) -> None:
        for _ in range(count):
            queue.put(BODY, persistent())

    return Contender(lambda _: drain(queue), run)


def get_contender(queue: Queue) -> Contender:
    """Gets messages one by one."""

    def run(count: int) -> None:
        for _ in range(count):
            queue.get()

    return Contender(lambda count: fill(queue, count), run)


def _stream_put(site: Site, streams: Streams) -> Contender:
    def run(count: int) -> None:
        for _ in range(count):
            streams.add(SOURCE, BODY)

    return Contender(lambda _: site.streams.renew(SOURCE), run)


def fill_stream(site: Site, count: int) -> None:
    """A stream of *count* messages that nobody has read."""
    site.streams.renew(SOURCE, TARGET)
    site.streams.add_many(SOURCE, [BODY] * count)


def _stream_get(site: Site, streams: Streams) -> Contender:
    def run(count: int) -> None:
        for _ in range(count):
            ((entry, _),) = streams.read(SOURCE, 1)
            streams.acknowledge(SOURCE, (entry,))

    return Contender(lambda count: fill_stream(site, count), run)


def _stream_transaction(site: Site, streams: Streams) -> Contender:
    def run(count: int) -> None:
        for _ in range(count):
            streams.pass_on(SOURCE, TARGET, streams.read(SOURCE, 1))

    return Contender(lambda count: fill_stream(site, count), run)
