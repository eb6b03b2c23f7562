"""Completion of commands in a shell."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_shell_completes_the_commands_of_igq() -> None:
    asked = {"_IGQ_COMPLETE": "complete_bash", "COMP_WORDS": "igq qmgr st", "COMP_CWORD": "2"}

    done = subprocess.run(
        [sys.executable, "-c", "from igq.cli import main; main()"],
        env=os.environ | asked,
        check=True,
        capture_output=True,
        text=True,
    )

    assert (done.stdout.split(), done.stderr) == (["start", "stop"], "")
