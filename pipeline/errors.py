"""What a pipeline command cannot do, as one line."""

from __future__ import annotations


class PipelineError(Exception):
    """A job cannot run. The message is one line and says what to do."""
