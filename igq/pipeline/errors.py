"""The errors of the pipeline's commands, each one line."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

#: Spark's message about a file that is damaged or of another format; it has the file's URI.
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[^]]*\] .* reading file (\S+?)\.(\s|$)")

#: Packages whose errors explain themselves.
_OURS = ("sharedq.", "igq.")


class PipelineError(Exception):
    """A job cannot run. The message is one line and says what to do."""


def in_a_line(error: Exception) -> str:
    """An error of Spark in one line: our own error from a worker if there is one, else Spark's text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The last line that names an error of ours is the cause; the lines around it are the worker's traceback.
    ours = [line.partition(": ")[2] for line in lines if line.startswith(_OURS)]
    return ours[-1] if ours else f"Spark: {why_a_job_ends(error)}"


def why_a_job_ends(error: Exception) -> str:
    """Why a job of Spark ended: a Java exception's own line, or the name of an unreadable file and the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for at, line in enumerate(lines):
        # It is not the first line if several stages failed.
        unreadable = _UNREADABLE.search(line)
        if unreadable:
            cause = next((each for each in lines[at + 1 :] if each.startswith("Caused by: ")), "")
            # The cause follows the name of its class, and may begin with the file's name.
            why = re.sub(r"^file:\S+ ", "", cause.partition(": ")[2].partition(": ")[2])
            uri = unreadable[1]
            file = unquote(urlsplit(uri).path) if uri.startswith("file:") else uri
            return f"{file} cannot be read{': ' if why else ''}{why}"
    of_java = [line.removeprefix(":").strip() for line in lines if line.startswith(": ")]
    return (of_java or lines or [type(error).__name__])[0]
