"""Reads from the checkpoint of a streaming query which of its claims were processed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from igq.pipeline.errors import PipelineError

#: Whether the sink has a batch that was begun and is not noted as processed; "" if the user does not say.
BegunBatch = Literal["done", "undone", ""]
#: The fields of an offset of our source; see ``igq.pipeline.datasource.queue.stream``.
_OURS = {"batch", "claims", "term"}


def processed_claims(checkpoint: Path, stream: str, *, term: int = 0, begun: BegunBatch = "") -> set[str]:
    """The claims of the last batch that was processed. The claims of earlier batches have ended.

    Spark notes a batch after its sink has it. So the sink may have a batch that was begun and is not noted, or not.

    Args:
        stream: the query's name. A query may read several streams; an offset of an older version names none.
        term: the query must have begun in this term or later; see ``igq.pipeline.claims.claims``.
        begun: whether a batch that was begun and is not noted is ``done`` or ``undone``.

    Raises:
        PipelineError: it is no checkpoint, or the checkpoint of a query that has not read *stream*, or of an earlier
            query of that name, or it cannot be read; or there is such a batch, and *begun* is "".
    """
    offsets, noted = _batches(checkpoint, stream, term)
    last = max(offsets)
    if last > noted and begun == "":
        raise PipelineError(
            f"checkpoint {checkpoint}: batch {last} was begun and is not noted as processed. Start the query once more,"
            " or look whether its sink has that batch, and say --begun done or undone"
        )
    done = last if begun == "done" else noted
    return set(_claims_in(offsets[done], stream)) if done >= 0 else set()


def begun_claims(checkpoint: Path, stream: str, *, term: int = 0) -> str:
    """The claims of the batch that was begun and is not noted as processed.

    Args:
        stream, term: as for `processed_claims`.

    Raises:
        PipelineError: as for `processed_claims`; or there is no such batch, or it has no claims of *stream*.
    """
    offsets, noted = _batches(checkpoint, stream, term)
    last = max(offsets)
    claims = set(_claims_in(offsets[last], stream)) if last > noted else set()
    if noted >= 0:
        # The batch may have new claims of another stream only.
        claims -= set(_claims_in(offsets[noted], stream))
    if not claims:
        raise PipelineError(f"checkpoint {checkpoint}: no batch of stream {stream} was begun and is not processed")
    return claims.pop()


def _batches(checkpoint: Path, stream: str, term: int) -> tuple[dict[int, Path], int]:
    """The log of offsets, and the number of the last batch that is noted as processed (-1 if there is none).

    Raises:
        PipelineError: as for `processed_claims`.
    """
    offsets, commits = (_numbered(checkpoint / name) for name in ("offsets", "commits"))
    if not offsets:
        raise PipelineError(f"checkpoint {checkpoint}: is not the checkpoint of a streaming query: it has no offsets")
    latest = list(_offsets_of(offsets[max(offsets)]))
    known = {str(offset.get("stream", stream)) for offset in latest}
    if stream not in known:
        others = f"it is of {', '.join(sorted(known))}" if known else "its query reads no queue"
        raise PipelineError(f"checkpoint {checkpoint}: is not of stream {stream}: {others}")
    if any(offset["term"] < term for offset in latest if offset.get("stream", stream) == stream):
        raise PipelineError(
            f"checkpoint {checkpoint}: is of a released query of that name; if the release was interrupted,"
            " --force repeats it"
        )
    noted = max(commits, default=-1)
    if noted >= 0 and noted not in offsets:
        raise PipelineError(f"checkpoint {checkpoint}: batch {noted} is noted as processed, but its offsets are gone")
    return offsets, noted


def _claims_in(path: Path, stream: str) -> Iterator[str]:
    return (each["claims"] for each in _offsets_of(path) if each.get("stream", stream) == stream and each["claims"])


def _numbered(directory: Path) -> dict[int, Path]:
    """The files of one of Spark's logs, by batch number."""
    try:
        return {int(path.name): path for path in directory.iterdir() if path.name.isascii() and path.name.isdecimal()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PipelineError(f"{directory}: cannot be read: {error.strerror or error}") from None


def _offsets_of(path: Path) -> Iterator[dict[str, Any]]:
    """The offsets of our sources. A file has a version, a line about the batch, and a line of JSON for each source."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path}: cannot be read: {error}") from None
    for line in lines[2:]:
        try:
            offset = json.loads(line)
        except (ValueError, RecursionError):
            # The source has no offset yet, or is of another kind.
            continue
        if isinstance(offset, dict) and offset.keys() >= _OURS:
            if not (isinstance(offset["claims"], str) and isinstance(offset["term"], int)):
                raise PipelineError(f"{path}: cannot be read: {line}")
            yield offset
