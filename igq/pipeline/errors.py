"""What a pipeline command cannot do, as one line."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

#: What Spark says of a file that is damaged, or none of its format: its URI.
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[^]]*\] .* reading file (\S+?)\.(\s|$)")

#: Modules whose errors say by themselves what is wrong.
_OURS = ("sharedq.", "igq.")


class PipelineError(Exception):
    """A job cannot run. The message is one line and says what to do."""


def in_a_line(error: Exception) -> str:
    """What Spark raised: the error of ours that it had from a worker, or what it says itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The last line that names an error of ours is the cause; what is around it is the worker's traceback.
    ours = [line.partition(": ")[2] for line in lines if line.startswith(_OURS)]
    return ours[-1] if ours else f"Spark: {why_a_job_ends(error)}"


def why_a_job_ends(error: Exception) -> str:
    """What went wrong in Spark: of a Java exception its line, which is not the first; of a file its name and why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for at, line in enumerate(lines):
        # Where several stages failed, this is not the first line.
        unreadable = _UNREADABLE.search(line)
        if unreadable:
            cause = next((each for each in lines[at + 1 :] if each.startswith("Caused by: ")), "")
            # Behind the name of its class. It may begin with the file's name once more.
            why = re.sub(r"^file:\S+ ", "", cause.partition(": ")[2].partition(": ")[2])
            uri = unreadable[1]
            file = unquote(urlsplit(uri).path) if uri.startswith("file:") else uri
            return f"{file} cannot be read{': ' if why else ''}{why}"
    of_java = [line.removeprefix(":").strip() for line in lines if line.startswith(": ")]
    return (of_java or lines or [type(error).__name__])[0]
