"""From departures to groups, units of work and messages."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.rehearsal.load.rows.plan import PATHS, UNIT_DEPARTURES, Copy, correl_id, groups, units_of_work
from igq.rehearsal.load.rows.sources import NEXT_QMGR, QMGRS, Departure, by_day
from sharedq.mqi.constants import MsgFlag
from sharedq.mqi.limits import NULL_ID

pytestmark = pytest.mark.share


def departure(row: int, aircraft: str = "N1", source: str = "EWR", day: str = "1", departs: str = "0800") -> Departure:
    return Departure(row, source, aircraft, day, departs, {"row": str(row), "delay": "-3", "gate": "NA"})


@st.composite
def inputs(draw: st.DrawFn) -> list[Departure]:
    """Rows of a few days, in the order of the days."""
    rows: list[Departure] = []
    for day in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(0, 60))):
            aircraft = draw(st.sampled_from(["", "N1", "N2", "N3", "N4"]))
            source, hour = draw(st.sampled_from(QMGRS)), draw(st.integers(0, 23))
            rows.append(departure(len(rows), aircraft, source, str(day), f"{hour:02d}00"))
    return rows


def test_an_aircrafts_departures_of_a_day_and_origin_are_an_ordered_group() -> None:
    day = [
        departure(0, departs="1200"),
        departure(1, departs="0600"),
        departure(2, aircraft="N2", departs="0900"),
        departure(3, source="JFK", departs="0700"),
        departure(4, aircraft=""),
    ]

    found = [[(planned.departure.row, planned.seq, planned.group_size) for planned in group] for group in groups(day)]

    assert found == [[(1, 1, 2), (0, 2, 2)], [(3, 1, 1)], [(4, 1, 0)], [(2, 1, 1)]]


def test_only_the_last_message_of_a_group_is_flagged_as_last() -> None:
    (group,) = groups([departure(0), departure(1, departs="0900")])
    first, last = (planned.copies()[0].descriptor() for planned in group)

    assert first.msg_flags == MsgFlag.MSG_IN_GROUP
    assert last.msg_flags & MsgFlag.LAST_MSG_IN_GROUP
    assert (first.msg_seq_number, last.msg_seq_number) == (1, 2)
    assert first.group_id == last.group_id != NULL_ID


def test_a_row_without_a_tail_number_is_in_no_group() -> None:
    ((planned,),) = groups([departure(0, aircraft="")])

    md = planned.copies()[0].descriptor()

    assert md.group_id == NULL_ID
    assert md.msg_flags == 0


def test_the_next_members_correl_id_follows_from_the_group() -> None:
    """Consumers ask for the rest of a group by it."""
    (group,) = groups([departure(0), departure(1, departs="0900")])
    for path in range(len(PATHS)):
        first, second = (planned.copies()[path] for planned in group)
        assert second.correl == correl_id(first.group, 2)


@given(inputs())
def test_units_of_work_hold_each_departure_once_and_groups_whole(rows: list[Departure]) -> None:
    for source in QMGRS:
        units = list(units_of_work(by_day(rows), source))
        assert sorted(planned.departure.row for unit in units for planned in unit) == [
            row.row for row in rows if row.source == source
        ]
        for unit in units:
            members: dict[bytes, list[Copy]] = defaultdict(list)
            for planned in unit:
                shared = planned.copies()[1]
                if shared.group_size:
                    members[shared.group].append(shared)
            for group in members.values():
                assert [copy.seq for copy in group] == list(range(1, group[0].group_size + 1))


@given(inputs())
def test_every_message_has_a_correl_id_of_its_own(rows: list[Departure]) -> None:
    copies = [copy for day in by_day(rows) for group in groups(day) for planned in group for copy in planned.copies()]
    assert len({copy.correl for copy in copies}) == len(copies) == 2 * len(rows)
    assert all(copy.target == (NEXT_QMGR[copy.source] if copy.path == "igq" else "") for copy in copies)


def test_units_of_work_are_full_where_the_groups_allow_it() -> None:
    day = [departure(row, aircraft=f"N{row // 2}", departs=f"{row:04d}") for row in range(98)]
    day += [departure(row, aircraft=f"S{row}", departs="9999") for row in range(98, 104)]

    sizes = [len(unit) for unit in units_of_work([day], "EWR")]

    assert sizes == [UNIT_DEPARTURES] * 4 + [4]


def test_a_single_departure_fills_the_gap_that_the_next_group_leaves() -> None:
    day = [departure(row, aircraft=f"N{row // 2}", departs=f"{row:04d}") for row in range(60)]
    day += [departure(60, aircraft="S", departs="0040")]

    first = next(iter(units_of_work([day], "EWR")))

    assert len(first) == UNIT_DEPARTURES
    assert first[-1].departure.row == 60


def test_an_input_that_comes_back_to_a_day_is_refused() -> None:
    with pytest.raises(ValueError, match="returns to 1"):
        list(by_day([departure(0), departure(1, day="2"), departure(2)]))


def test_a_body_is_the_row_as_json() -> None:
    assert departure(7).body() == b'{"row":7,"delay":-3,"gate":null}'
