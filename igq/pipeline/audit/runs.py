"""The directory of a run: all that needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from igq.pipeline.errors import PipelineError
from sharedq.reading.journal import position_order


def check_run(directory: Path) -> None:
    """Check that *directory* holds a run.

    Raises:
        PipelineError: it is no directory, has no expected.jsonl, or its list of losses cannot be used.
    """
    if not directory.is_dir():
        raise PipelineError(f"run directory {directory}: no such directory")
    if not (directory / "expected.jsonl").is_file():
        raise PipelineError(f"run directory {directory}: has no expected.jsonl, the list of what must arrive")
    losses_of(directory)


def losses_of(directory: Path) -> list[Mapping[str, Any]]:
    """The structures that a run has lost, each with ``structure`` and ``backup``; empty without the file.

    Raises:
        PipelineError: a line cannot be read, or a structure's journal is missing.
    """
    path = directory / "losses.jsonl"
    if not path.is_file():
        return []
    losses: list[Mapping[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            loss = json.loads(line)
            position_order(str(loss["backup"]), is_end=False)
            journal = directory / f"lost-{loss['structure']}.jsonl"
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{path}: line {number} cannot be used: {error!r}") from None
        if not journal.is_file():
            raise PipelineError(f"{path}: line {number}: there is no {journal.name}")
        losses.append(loss)
    return losses


def has_own_server(directory: Path) -> bool:
    """Whether the run used an embedded server of its own, which has the run's journal."""
    return (directory / "redis").is_dir()


def read_timeline(path: Path) -> list[Mapping[str, Any]]:
    """Some dozens of events of the managers, in order of time; empty without the file."""
    events = [event for event in read_rows(path) if "t_ms" in event and "event" in event]
    return sorted(events, key=lambda event: int(event["t_ms"]))


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a small file, without unfinished lines; empty without the file."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict):
            yield row


def timeline_of(directory: Path) -> list[Mapping[str, Any]]:
    """The timeline of a run. Raises PipelineError: *directory* has none."""
    path = directory / "timeline.jsonl"
    if not path.is_file():
        raise PipelineError(f"run directory {directory}: has no timeline.jsonl, the list of what failed")
    return read_timeline(path)
