"""Every constant in one namespace."""

from __future__ import annotations

from sharedq.pymqi.CMQC import *  # noqa: F403
from sharedq.pymqi.CMQCFC import *  # noqa: F403
from sharedq.pymqi.CMQXC import *  # noqa: F403
from sharedq.pymqi.CMQZC import *  # noqa: F403
