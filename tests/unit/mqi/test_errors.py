"""Exceptions by reason code."""

from __future__ import annotations

import pickle

import pytest

from sharedq.mqi import errors
from sharedq.mqi.constants import MQCC, MQRC
from sharedq.mqi.errors import ConnectionBroken, MQIError, NoMsgAvailable, TruncatedMsgFailed, error_for


def test_message_says_verb_object_reason_and_the_fact_that_explains_it() -> None:
    error = error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", "PAYMENTS.IN", "waited 5000 ms")

    assert str(error) == "MQGET PAYMENTS.IN: MQRC_NO_MSG_AVAILABLE (2033), waited 5000 ms"


def test_message_leaves_out_what_is_not_known() -> None:
    assert str(error_for(MQRC.CONNECTION_BROKEN, "", "")) == "MQRC_CONNECTION_BROKEN (2009)"
    assert str(error_for(MQRC.CONNECTION_BROKEN, "", "EWR")) == "EWR: MQRC_CONNECTION_BROKEN (2009)"


def test_reasons_that_callers_treat_differently_have_their_own_class() -> None:
    classes = {cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, MQIError)}

    for cls in classes - {MQIError}:
        assert type(error_for(cls.reason, "MQGET", "Q")) is cls
    assert {NoMsgAvailable, ConnectionBroken} <= classes


def test_other_reasons_keep_their_number_in_the_common_class() -> None:
    first = error_for(MQRC.OD_ERROR, "MQOPEN", "Q")
    error_for(MQRC.PMO_ERROR, "MQPUT", "Q")

    assert type(first) is MQIError
    assert (first.reason, first.comp_code) == (MQRC.OD_ERROR, MQCC.FAILED)
    assert MQIError.reason == MQRC.UNEXPECTED_ERROR


@pytest.mark.parametrize("reason", [MQRC.NO_MSG_LOCKED, MQRC.TRUNCATED_MSG_FAILED])
def test_warnings_are_known_by_their_completion_code(reason: MQRC) -> None:
    assert error_for(reason, "MQGET", "Q").comp_code == MQCC.WARNING


def test_caller_decides_where_a_reason_is_warning_and_failure() -> None:
    error = error_for(MQRC.INCOMPLETE_GROUP, "MQCLOSE", "Q", comp_code=MQCC.WARNING)

    assert error.comp_code == MQCC.WARNING
    assert error_for(MQRC.INCOMPLETE_GROUP, "MQPUT", "Q").comp_code == MQCC.FAILED


def test_errors_cross_process_borders_whole() -> None:
    for sent in (error_for(MQRC.OD_ERROR, "MQOPEN", "Q", "why"), TruncatedMsgFailed("MQGET", "Q")):
        received = pickle.loads(pickle.dumps(sent))

        assert (type(received), received.reason, received.comp_code, str(received)) == (
            type(sent),
            sent.reason,
            sent.comp_code,
            str(sent),
        )
