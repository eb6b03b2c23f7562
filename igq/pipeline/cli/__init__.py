"""The commands of `igq pipeline`."""

from igq.pipeline.cli.app import app

__all__ = ["app"]
