"""``python -m igq`` is ``igq``."""

from __future__ import annotations

import sys

from igq.cli import main

if __name__ == "__main__":
    sys.exit(main())
