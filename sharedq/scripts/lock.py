"""The script that takes the locks of a browse away."""

from __future__ import annotations
