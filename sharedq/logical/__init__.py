"""Groups, logical messages and segments as pure functions: no Redis, no waiting, nothing but values."""

from __future__ import annotations

from sharedq.logical.get import ANY_OFFSET as ANY_OFFSET
from sharedq.logical.get import ANY_SEQ as ANY_SEQ
from sharedq.logical.get import Wanted as Wanted
from sharedq.logical.get import after_get as after_get
from sharedq.logical.get import check_get as check_get
from sharedq.logical.get import check_request as check_request
from sharedq.logical.get import check_under_cursor as check_under_cursor
from sharedq.logical.get import in_unit_of_work as in_unit_of_work
from sharedq.logical.get import match_options_of as match_options_of
from sharedq.logical.get import must_be_there as must_be_there
from sharedq.logical.get import wanted as wanted
from sharedq.logical.put import PLAIN as PLAIN
from sharedq.logical.put import PutPosition as PutPosition
from sharedq.logical.put import after_put as after_put
from sharedq.logical.put import put_position as put_position
from sharedq.logical.retained import GROUP_FLAGS as GROUP_FLAGS
from sharedq.logical.retained import NOTHING as NOTHING
from sharedq.logical.retained import OK as OK
from sharedq.logical.retained import UNUSED as UNUSED
from sharedq.logical.retained import Completion as Completion
from sharedq.logical.retained import HandleOrder as HandleOrder
from sharedq.logical.retained import Retained as Retained
from sharedq.logical.retained import check_close as check_close
from sharedq.logical.retained import group_status as group_status
from sharedq.logical.retained import segment_status as segment_status
from sharedq.logical.retained import segmentation as segmentation
from sharedq.logical.retained import stored_flags as stored_flags
from sharedq.logical.segments import Reassembled as Reassembled
from sharedq.logical.segments import Segment as Segment
from sharedq.logical.segments import reassembled as reassembled
from sharedq.logical.segments import split as split
