"""Does what Spark does with the stream of a queue, in one process that starts at once: a test kills it often.

Offsets and finished batches are noted in files, in Spark's order; a batch's messages go to a file of their own. A batch
that is tried again must have the same ones, else the program ends with status 3.

A process that has imported all of it makes each driver as a copy of itself: the imports would be half of a test.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import stream as queue_stream
from igq.pipeline.datasource.queue.layout import chosen
from igq.pipeline.datasource.queue.stream import Offset
from tests.pipeline.dying_source import Death, DyingReader

#: Further steps at which it can die.
PLAIN_STEPS = ("written down", "processed", "noted")
DIFFERS = 3


def start(told: dict[str, Any]) -> BaseProcess:
    """Start a driver.

    Args:
        told: ``url``, ``group``, ``directory``; ``options`` of the source; ``die``, as in
            ``tests.pipeline.dying_source``.
    """
    copies = multiprocessing.get_context("forkserver")
    copies.set_forkserver_preload([__name__])
    process = copies.Process(target=_run, args=(told,))
    process.start()
    return process


def _run(told: dict[str, Any]) -> None:
    os.environ["IGQ_LEASE_MS"] = "600000"
    with (Path(told["directory"]) / "stderr").open("ab") as said:
        os.dup2(said.fileno(), sys.stderr.fileno())
    Driver(told).run()


class Driver:
    """One query that takes the messages, from the point at which its predecessor died."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._directory = Path(told["directory"])
        self._death = Death(tuple(filter(None, told["die"].split(","))), told["directory"])
        options = told["options"] | {"url": told["url"], "group": told["group"]}
        self._limit = ReadMaxRows(int(options["maxMessagesPerTrigger"]))
        schema = chosen("all", options.get("properties", ""))
        self._reader = DyingReader(schema, SourceOptions(options, queue_stream.OPTIONS), self._death)

    def run(self) -> None:
        """Run until the queue is empty."""
        self._reader.prepareForTriggerAvailableNow()
        if not self._path("offset", 0).exists():
            self._write("offset", 0, self._reader.initialOffset())
        number = max(int(path.name.partition("-")[2]) for path in self._directory.glob("offset-*"))
        if number and not self._path("done", number).exists():
            self._process(number)
        while True:
            start = self._offset(number)
            end = self._reader.latestOffset(start, self._limit)
            if end == start:
                break
            number += 1
            self._write("offset", number, end)
            self._death.at("written down")
            if number > 1:
                self._reader.commit(start)
            self._process(number)
        self._reader.stop()

    def _process(self, number: int) -> None:
        parts = self._reader.partitions(self._offset(number - 1), self._offset(number))
        rows = [
            row["data"].decode() for part in parts for batch in self._reader.read(part) for row in batch.to_pylist()
        ]
        if self._path("rows", number).exists() and json.loads(self._path("rows", number).read_text()) != rows:
            sys.exit(DIFFERS)
        self._write("rows", number, rows)
        self._death.at("processed")
        self._write("done", number, True)
        self._death.at("noted")

    def _offset(self, number: int) -> Offset:
        found: Offset = json.loads(self._path("offset", number).read_text())
        return found

    def _path(self, what: str, number: int) -> Path:
        return self._directory / f"{what}-{number}"

    def _write(self, what: str, number: int, value: object) -> None:
        """Write it whole, or not at all."""
        path = self._directory / "being written"
        path.write_text(json.dumps(value))
        path.rename(self._path(what, number))
