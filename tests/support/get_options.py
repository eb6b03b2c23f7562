"""MQGET options by the names that IBM's text gives them."""

from __future__ import annotations

from sharedq.mqi.constants import GetOption

#: The RPG names of the text, and their options.
RPG = {
    "GMWT": GetOption.WAIT,
    "GMNWT": GetOption.NO_WAIT,
    "GMFIQ": GetOption.FAIL_IF_QUIESCING,
    "GMSYP": GetOption.SYNCPOINT,
    "GMPSYP": GetOption.SYNCPOINT_IF_PERSISTENT,
    "GMNSYP": GetOption.NO_SYNCPOINT,
    "GMBRWF": GetOption.BROWSE_FIRST,
    "GMBRWN": GetOption.BROWSE_NEXT,
    "GMBRWC": GetOption.BROWSE_MSG_UNDER_CURSOR,
    "GMMUC": GetOption.MSG_UNDER_CURSOR,
    "GMLK": GetOption.LOCK,
    "GMUNLK": GetOption.UNLOCK,
    "GMATM": GetOption.ACCEPT_TRUNCATED_MSG,
    "GMCONV": GetOption.CONVERT,
    "GMLOGO": GetOption.LOGICAL_ORDER,
    "GMCMPM": GetOption.COMPLETE_MSG,
    "GMAMSA": GetOption.ALL_MSGS_AVAILABLE,
    "GMASGA": GetOption.ALL_SEGMENTS_AVAILABLE,
}
