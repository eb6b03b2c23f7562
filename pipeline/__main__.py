"""`python -m pipeline JOB`: Spark jobs over the queues and the journal of a group."""

from __future__ import annotations

from pipeline.cli import app


def main() -> None:
    """Run the command line."""
    app(prog_name="igq pipeline")


if __name__ == "__main__":
    main()
