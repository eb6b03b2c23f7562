"""A wrong value in any field of any structure is a reason: no exception of Python, and no end of the connection.

Each field of each structure takes each value, in every call of the MQI and of the native API that takes the structure;
and so does each other argument. `tests/pymqi/test_wrong_structures.py` does it with the structures of pymqi.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from sharedq import verbs
from sharedq.callbacks import structures as of_callbacks
from sharedq.mqi import structures
from sharedq.mqi.constants import MQCC, OpenOption, PutRecordField
from sharedq.mqi.structures import MQMD, MQOD, MQOR, MQPMO, MQPMR, MQRR
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ListHandle
from tests.mqi.faces.test_wrong_arguments import NEVER, Program
from tests.support.accounts import assert_accounted
from tests.support.members import TestGroup
from tests.support.wrong_values import WRONG

#: The records of a list that count.
ALL_FIELDS = sum(PutRecordField)
#: Structures that the library alone makes, and that of MQBEGIN, which only a channel reads.
RETURNED = {"MQCBC", "MQBO"}


class Fuzzed(Program):
    """A connection with one of everything, distribution lists among them."""

    def __init__(self, group: TestGroup) -> None:
        super().__init__(group, random.Random(0))
        self.list = self.api.open_list(["Q", "SPREAD"])
        self.calls |= {
            "mqopen of a list": (self.opened_list, [MQOD(2, recs_present=2), MQOR(b"P"), MQRR()]),
            "mqput to a list": (self.put_on_list, [MQMD(), _with_records(), MQPMR(), MQRR()]),
            "mqput1 to a list": (
                self.put1_on_list,
                [MQOD(2, recs_present=2), MQOR(b"P"), MQRR(), _with_records(), MQPMR()],
            ),
            "open_list": (
                lambda one, options: self.api.open_list(["Q", one], options).close(),
                ["P", OpenOption.OUTPUT],
            ),
            "put on a list": (
                self.put_many_ways,
                [b"x", MQMD(), 0, None, MQPMR(), PutRecordField.CORREL_ID, None],
            ),
        }

    def opened_list(self, od: Any, record: Any, response: Any) -> Any:
        return self.opened(self.hconn, _with(od, [MQOR(b"Q"), record], [MQRR(), response]), int(OpenOption.OUTPUT))

    def put_on_list(self, md: Any, pmo: Any, record: Any, response: Any) -> Any:
        if type(pmo) is MQPMO and not pmo.put_msg_records:
            pmo = replace(pmo, put_msg_records=[MQPMR(), record], response_records=[MQRR(), response])
        return verbs.mqput(self.hconn, self.list.handle, md, pmo, b"x")

    def put1_on_list(self, od: Any, record: Any, response: Any, pmo: Any, put_record: Any) -> Any:
        if type(pmo) is MQPMO and not pmo.put_msg_records:
            pmo = replace(pmo, put_msg_records=[MQPMR(), put_record])
        od = _with(od, [MQOR(b"Q"), record], [MQRR(), response])
        return verbs.mqput1(self.hconn, od, MQMD(), pmo, b"x")

    def put_many_ways(
        self, body: Any, md: Any, options: Any, context: Any, record: Any, which: Any, handle: Any
    ) -> None:
        records = [MQPMR(correl_id=b"1" * 24), record]
        self.list.put(body, md, options=options, context=context, records=records, fields=which, properties=handle)


def _with_records() -> MQPMO:
    return MQPMO(2, recs_present=2, put_msg_rec_fields=ALL_FIELDS & ~int(PutRecordField.ACCOUNTING_TOKEN))


def _with(od: Any, records: list[Any], responses: list[Any]) -> Any:
    if type(od) is not MQOD or od.object_records or od.response_records:
        return od
    return replace(od, object_records=records, response_records=responses)


def structures_in(*modules: ModuleType) -> list[str]:
    found = {name for module in modules for name, kind in vars(module).items() if is_dataclass(kind)}
    return sorted(name for name in found if name.startswith("MQ"))


def with_each_value(right: list[Any], at: int) -> Iterator[tuple[str, list[Any]]]:
    """The arguments with each wrong value in each field of the structure at this place; or there, if none is there."""
    if type(right[at]).__name__ not in STRUCTURES:
        for value in WRONG:
            yield f"argument {at} {value!r:.80}", [*right[:at], value, *right[at + 1 :]]
        return
    for field in fields(right[at]):
        for value in WRONG:
            # The structures of the other arguments, because a call may leave something in them.
            given = [replace(each) if type(each).__name__ in STRUCTURES else each for each in right]
            setattr(given[at], field.name, value)
            yield f"{type(right[at]).__name__}.{field.name} {value!r:.80}", given


STRUCTURES = structures_in(structures, of_callbacks)
#: Arguments that a program gets from earlier calls: another thing in their place has its own tests.
KEPT = (Connection, Handle, ListHandle)


@pytest.fixture
def program(group: TestGroup) -> Fuzzed:
    for name in ("Q", "KEPT", "A1", "A2"):
        group.define_shared(name)
    group.define("QM1", QueueAlias(name="SPREAD", target="A1", spread="A2", def_bind="GROUP"))
    group.define_private("QM1", "P")
    return Fuzzed(group)


def attack(program: Fuzzed, name: str, takes: Callable[[Any], bool]) -> int:
    call, right = program.calls[name]
    made = 0
    for at, argument in enumerate(right):
        if not takes(argument):
            continue
        for what, given in with_each_value(right, at):
            said = f"{name}: {what}"
            codes = program.codes_of(call, given, said)
            assert not set(codes) & NEVER, f"{said}: {codes}"
            assert not program.hconn.is_ended, said
            made += 1
    return made


@pytest.mark.parametrize("structure", [*sorted(set(STRUCTURES) - RETURNED), "arguments"])
def test_each_field_takes_each_wrong_value(program: Fuzzed, structure: str) -> None:
    def takes(argument: Any) -> bool:
        kind = type(argument).__name__
        if structure == "arguments":
            return kind not in STRUCTURES and not isinstance(argument, KEPT) and argument is not program.group.group
        return kind == structure

    made = 0
    for name in program.calls:
        # An operation starts consumers, and may wait for them.
        if name != "mqctl of no operation":
            made += attack(program, name, takes)
            assert verbs.mqinq(program.hconn, program.queue.handle, [3])[1] == MQCC.OK, name
            program.api.backout()
    # No structure is left out.
    assert made
    assert_accounted(program.group.group)
