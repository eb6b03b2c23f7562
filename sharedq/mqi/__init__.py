"""The Message Queue Interface's vocabulary: numbers, structures, layouts, errors. Nothing of Redis."""

from __future__ import annotations

from sharedq.mqi.constants import *  # noqa: F403
from sharedq.mqi.errors import MQIError as MQIError
from sharedq.mqi.errors import error_for as error_for
from sharedq.mqi.structures import MQCNO as MQCNO
from sharedq.mqi.structures import MQGMO as MQGMO
from sharedq.mqi.structures import MQMD as MQMD
from sharedq.mqi.structures import MQOD as MQOD
from sharedq.mqi.structures import MQPMO as MQPMO
from sharedq.mqi.structures import MQSTS as MQSTS
