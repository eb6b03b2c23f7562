"""`python -m pipeline JOB`: Spark jobs over the queues and the journal of a group. People say `igq pipeline JOB`."""

from __future__ import annotations

import sys

import typer

from pipeline.cli import app

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one job; its exit status. What is wrong with the arguments is one line on standard error."""
    try:
        result = app(args=arguments, standalone_mode=False, prog_name="igq pipeline")
        return result if isinstance(result, int) else 0
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        where = "" if context is None else f" (see {context.command_path} --help)"
        print(f"igq pipeline: {' '.join(error.format_message().split()).rstrip('.')}{where}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
