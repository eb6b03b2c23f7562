"""IBM's numbers under IBM's names, without the prefix that the class stands for.

``MQRC.NO_MSG_AVAILABLE`` is MQRC_NO_MSG_AVAILABLE, ``GetOption.WAIT`` is MQGMO_WAIT. Numbers are IBM's,
from cmqc.h and cmqcfc.h; ``tests/unit/mqi/test_constants.py`` holds them in place.
"""

from __future__ import annotations

from sharedq.mqi.constants.attributes import *  # noqa: F403
from sharedq.mqi.constants.descriptor import *  # noqa: F403
from sharedq.mqi.constants.options import *  # noqa: F403
from sharedq.mqi.constants.properties import *  # noqa: F403
from sharedq.mqi.constants.reasons import *  # noqa: F403
from sharedq.mqi.constants.selectors import *  # noqa: F403
