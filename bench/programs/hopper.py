"""``python -m bench.programs.hopper URL streams|redis-py SOURCE TARGET``: an agent's work with streams, by fifties."""

from __future__ import annotations

import sys

from bench.streams import PlainStreams, Streams, ThinStreams

BATCH = 50


def main(url: str, how: str, source: str, target: str) -> None:
    """Move messages until this process is ended."""
    streams: Streams = ThinStreams(url) if how == "streams" else PlainStreams(url)
    while True:
        streams.pass_on(source, target, streams.read(source, BATCH, block_ms=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
