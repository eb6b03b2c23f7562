"""`igq pipeline replay` with small parts, as a program of its own that a test kills.

Arguments: messages in a part, then those of the command.
"""

from __future__ import annotations

import sys

from igq.pipeline.__main__ import main
from igq.pipeline.jobs import replay

if __name__ == "__main__":
    replay.PART_MESSAGES = int(sys.argv[1])
    sys.exit(main(["replay", *sys.argv[2:]]))
