"""Queues that become Parquet files: by streams, and by `igq pipeline archive`, beside a bare consumer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

from bench.lines.spark.place import Place, Rate, expect, place, ratio_row, told
from bench.rows import Row
from bench.site import QMGR, Site, fill


def measure(site: Site) -> list[Row]:
    """Both sides run before the first measured round."""
    with place(site) as at:
        return told(_archive(at))


def _archive(at: Place) -> list[Row]:
    """Streams to Parquet, by Spark and by its workers, and a Python program that gets 10,000 in a unit of work.

    All of them write the same columns.
    """
    from bench.programs.bare import ARCHIVED

    numbers = itertools.count()

    def filled() -> str:
        queue = at.site.open_new(at.site.connect())
        fill(queue, at.rows)
        return queue.name

    def stream(source: str, sink: str) -> None:
        directory = f"{at.site.server.path}/archive{next(numbers)}"
        options = at.options(at.site.group) | {"queue": queues.pop(), "stream": Path(directory).name}
        options |= {"columns": ",".join((*ARCHIVED, "data"))} | ({"path": directory} if source == sink else {})
        table = at.spark.readStream.format(source).options(**options).load()
        query = table.writeStream.format(sink).option("checkpointLocation", f"{directory}.checkpoint")
        if source != sink:
            query = query.option("path", directory)
        query.trigger(availableNow=True).start().awaitTermination()

    def bare() -> None:
        directory = Path(at.site.server.path) / f"archive{next(numbers)}"
        expect(at.bare.archive(at.site.group.settings, queues.pop(), directory), at.rows)

    queues: list[str] = []
    contenders: dict[str, Callable[[], None]] = {
        "spark": lambda: stream("igq", "parquet"),
        "workers": lambda: stream("igq.parquet", "igq.parquet"),
        "bare": bare,
    }
    found = at.rates(contenders, prepare=lambda: queues.extend(filled() for _ in contenders))
    by_workers = {"spark": found["workers"], "bare": found["bare"]}
    return [
        ratio_row("a stream to Parquet by Spark : a bare consumer", None, found),
        ratio_row("a stream to Parquet : a bare consumer", 1.5, by_workers),
        *_job(at, filled, found["bare"]),
    ]


def _job(at: Place, filled: Callable[[], str], bare: Rate) -> list[Row]:
    """The job of `igq pipeline archive`, which keeps every column, without its start."""
    from igq.pipeline.jobs.archive import archive_queue, new_run, remove_archived
    from igq.pipeline.jobs.archives import Archive

    settings, numbers, queues = at.site.group.settings, itertools.count(), list[str]()

    def new_archive() -> Archive:
        return Archive.open_or_make(Path(at.site.server.path) / f"job{next(numbers)}", settings.group)

    def copy() -> Archive:
        archive, run = new_archive(), new_run()
        with archive.writing(run):
            archive_queue(at.spark, settings, queues[-1], QMGR, archive, run)
        return archive

    def move() -> None:
        (row,) = remove_archived(at.spark, settings, queues[-1], QMGR, copy()).collect()
        expect(row["messages"], at.rows)

    found = at.rates({"copy": copy, "move": move}, prepare=lambda: queues.append(filled()), warm_up=1)
    return [
        ratio_row("igq pipeline archive : a bare consumer", 1.7, {"spark": found["copy"], "bare": bare}),
        ratio_row("igq pipeline archive --remove : a bare consumer", None, {"spark": found["move"], "bare": bare}),
    ]
