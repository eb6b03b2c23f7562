"""What the checkpoint of a streaming query says of the messages that it has taken off a queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import PipelineError

#: What the offset of a source of ours has; see ``pipeline.queue_stream``.
_OURS = {"batch", "claims", "term"}


def processed_claims(checkpoint: Path, stream: str) -> set[str]:
    """The claims of the last batch that Spark has noted as processed: those of the ones before have ended.

    Args:
        stream: whose they are. A query may read several, and an offset written by an older version names none.

    Raises:
        PipelineError: it is no checkpoint, or that of queries that have not read *stream*.
    """
    offsets, commits = (_numbered(checkpoint / name) for name in ("offsets", "commits"))
    if not offsets:
        raise PipelineError(f"checkpoint {checkpoint}: is none of a streaming query, it has no offsets")
    known = {offset.get("stream", stream) for offset in _offsets_of(offsets[max(offsets)])}
    if stream not in known:
        others = f"it is of {', '.join(sorted(known))}" if known else "its query reads no queue"
        raise PipelineError(f"checkpoint {checkpoint}: is not of stream {stream}: {others}")
    if not commits or max(commits) not in offsets:
        return set()
    done = _offsets_of(offsets[max(commits)])
    return {offset["claims"] for offset in done if offset.get("stream", stream) == stream and offset["claims"]}


def _numbered(directory: Path) -> dict[int, Path]:
    """A log of Spark's: a file a batch, named by its number."""
    try:
        return {int(path.name): path for path in directory.iterdir() if path.name.isdecimal()}
    except OSError:
        return {}


def _offsets_of(path: Path) -> Iterator[dict[str, Any]]:
    """The offsets of our sources: behind a version and a line about the batch, a line of JSON for each source."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path}: cannot be read: {error}") from None
    for line in lines[2:]:
        try:
            offset = json.loads(line)
        except json.JSONDecodeError:
            # Of a source that has none yet, or of another kind.
            continue
        if isinstance(offset, dict) and offset.keys() >= _OURS:
            yield offset
