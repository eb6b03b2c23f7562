"""MQGET on a queue, with every pair of its options: what it refuses with 2046, and that it refuses nothing else.

The rows are read off seed 003, independently of the table in the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from sharedq import Queue
from sharedq.mqi.constants import MQRC, GetOption
from tests.support.get_options import RPG
from tests.support.groups import BOTH, reason_of
from tests.support.members import TestGroup
from tests.support.server import Server

REFUSED = {
    # Calls that leave the message or only unlock it take no part in a unit of work (list of GMSYP).
    *(("GMSYP", other) for other in ("GMBRWF", "GMBRWC", "GMBRWN", "GMLK", "GMUNLK")),
    # A get is not both inside and outside, or inside on a condition (lists of GMSYP, GMPSYP and GMNSYP).
    *(("GMSYP", "GMNSYP"), ("GMSYP", "GMPSYP"), ("GMPSYP", "GMNSYP")),
    # The same where persistence decides; whole messages go with anything but that (lists of GMPSYP and GMLK, and the
    # last sentence about GMCMPM). The list of GMPSYP lacks GMLK, that of GMLK has it.
    *(("GMPSYP", other) for other in ("GMBRWF", "GMBRWC", "GMBRWN", "GMLK", "GMUNLK", "GMCMPM")),
    # One position to browse from (lists of GMBRWF, GMBRWN, GMBRWC).
    *(("GMBRWF", "GMBRWN"), ("GMBRWF", "GMBRWC"), ("GMBRWN", "GMBRWC")),
    # A browse, and the removal of the message under the cursor, are two calls (list of GMMUC).
    *(("GMMUC", other) for other in ("GMBRWF", "GMBRWN", "GMBRWC")),
    # An unlock goes only with the options that it implies: no wait, and no unit of work (list of GMUNLK).
    *(("GMUNLK", other) for other in RPG if other not in ("GMUNLK", "GMNWT", "GMNSYP")),
    # A lock needs one of the three browse options. Without them it has no effect.
    *(("GMLK", other) for other in RPG if other not in ("GMLK", "GMBRWF", "GMBRWN", "GMBRWC")),
}
PAIRS = list(combinations(RPG, 2))


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    server = Server()
    group = TestGroup(server.url, tmp_path_factory.mktemp("data"))
    group.add_member("QM1")
    group.define_shared("Q")
    yield group.connect().open("Q", BOTH)
    group.close()
    server.close()


def is_refused(queue: Queue, options: int) -> bool:
    if options & GetOption.UNLOCK and not options & ~int(GetOption.UNLOCK | GetOption.NO_SYNCPOINT):
        return queue.unlock()
    return reason_of(queue, options, wait_ms=0) == MQRC.OPTIONS_ERROR


@pytest.mark.rule("mqi/get", "Options that exclude each other are refused with 2046.")
@pytest.mark.rule("mqi/get", "NO_WAIT and PROPERTIES_AS_Q_DEF are zero: they are assumed, and exclude nothing.")
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_a_pair_is_refused_when_the_seed_refuses_it(queue: Queue, pair: tuple[str, str]) -> None:
    expected = pair in REFUSED or pair[::-1] in REFUSED
    assert is_refused(queue, int(RPG[pair[0]] | RPG[pair[1]])) == expected


def test_each_row_is_a_pair_of_options() -> None:
    assert {frozenset(pair) for pair in REFUSED} <= {frozenset(pair) for pair in PAIRS}
