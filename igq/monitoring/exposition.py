"""The text that Prometheus reads, and the application that serves it.

Of 16,000 lines of 2,000 queues nearly all are as they were at the last scrape, or begin so, and are kept.
prometheus_client formats each line anew.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from igq.monitoring.metrics import METRICS

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: A metric, and the values of its labels after the group.
_Key = tuple[str, tuple[str, ...]]
#: Lines, each with the name of its metric.
Block = tuple[tuple[str, str], ...]


class Exposition:
    """The samples of one scrape after the other."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._beginnings: dict[_Key, str] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a scrape: forget all samples."""
        self._lines: defaultdict[str, list[str]] = defaultdict(list)
        self._used: dict[_Key, str] = {}

    def add(self, name: str, labels: tuple[str, ...], value: float) -> None:
        """Add a sample: name of the metric, its labels after the group, value."""
        key = (name, labels)
        beginning = self._beginnings.get(key) or self._beginning(key)
        self._used[key] = beginning
        self._lines[name].append(f"{beginning}{float(value)!r}\n")

    def block(self, labels: tuple[str, ...], samples: Iterable[tuple[str, float]]) -> Block:
        """Return the lines of samples that have the same labels, for this scrape and later ones."""
        return tuple((name, f"{self._beginning((name, labels))}{float(value)!r}\n") for name, value in samples)

    def add_block(self, block: Block) -> None:
        """Add the lines of a block."""
        for name, line in block:
            self._lines[name].append(line)

    def text(self) -> bytes:
        """End a scrape: return its samples as text, grouped by metric as the format wants it."""
        self._beginnings = self._used
        parts = []
        for name, metric in METRICS.items():
            if name in self._lines:
                parts.append(f"# HELP {name} {metric.text}\n# TYPE {name} {metric.kind}\n")
                parts += self._lines[name]
        return "".join(parts).encode()

    def _beginning(self, key: _Key) -> str:
        name, labels = key
        pairs = zip(METRICS[name].labels, (self._group, *labels), strict=True)
        shown = ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs)
        return f"{name}{{{shown}}} "


def make_app(read: Callable[[], bytes]) -> WSGIApplication:
    """Return an application that answers each GET with what *read* returns, packed if the client takes that."""

    def app(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET":
            start_response("405 Method Not Allowed", [("Allow", "GET"), ("Content-Type", CONTENT_TYPE)])
            return [b"# use GET\n"]
        body, headers = read(), [("Content-Type", CONTENT_TYPE)]
        accepted = str(environ.get("HTTP_ACCEPT_ENCODING", "")).split(",")
        if "gzip" in (each.partition(";")[0].strip() for each in accepted):
            # The quickest level: it packs these lines to a twentieth, too.
            body = gzip.compress(body, compresslevel=1)
            headers.append(("Content-Encoding", "gzip"))
        start_response("200 OK", headers)
        return [body]

    return app


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
