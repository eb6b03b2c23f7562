"""The commands of `igq pipeline`."""

from pipeline.cli.app import app

__all__ = ["app"]
