"""``python -m docs.generator``: bring the generated parts of the pages up to date.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``. Everything else on a page
is written by hand and stays as it is.
"""

from __future__ import annotations

import sys

from docs.generator.pages import DOCS, generated_pages, refresh


def main() -> int:
    """Rewrite the pages that are out of date, and name them."""
    for page in generated_pages():
        before = page.read_text("utf-8")
        after = refresh(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"docs/{page.relative_to(DOCS)} is brought up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
