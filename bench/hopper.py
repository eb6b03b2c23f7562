"""``python -m bench.hopper URL``: what an agent does, with streams: fifty a time from one stream to another."""

from __future__ import annotations

import sys

from bench.lines.single import SOURCE, TARGET
from bench.streams import ThinStreams

BATCH = 50


def main(url: str) -> None:
    """Move messages until this process is ended."""
    streams = ThinStreams(url)
    while True:
        streams.pass_on(SOURCE, TARGET, streams.read(SOURCE, BATCH, block_ms=0))


if __name__ == "__main__":
    main(sys.argv[1])
