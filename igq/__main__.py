"""``python -m igq`` is ``igq``."""

from __future__ import annotations

import sys

from igq.processes.child import leave_current_folder

if __name__ == "__main__":
    leave_current_folder()

    from igq.cli import main

    sys.exit(main())
