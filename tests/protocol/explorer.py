"""Visits every state that a model can reach, breadth first, so the first violation found has a shortest path."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State", bound=Hashable)


class Step(NamedTuple, Generic[State]):
    """One indivisible step: who takes it, which script that is (or what else happens), and what it leads to."""

    who: str
    what: str
    state: State


@dataclass(frozen=True, slots=True)
class Properties(Generic[State]):
    """Properties that must hold, by name. A function returns a complaint, or an empty text.

    Attributes:
        of_states: of every state.
        of_steps: of every step, and the state that it is taken in.
        is_at_rest: a state of which this is true must stay reachable from everywhere: every history can still end well.
    """

    of_states: Mapping[str, Callable[[State], str]]
    of_steps: Mapping[str, Callable[[State, Step[State]], str]]
    is_at_rest: Callable[[State], bool]


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold, and the steps to the violation."""

    name: str
    complaint: str
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explored:
    """The result: numbers of states and steps, the distance of the farthest state, the scripts, and a violation."""

    states: int
    steps: int
    depth: int
    done: frozenset[str]
    violation: Violation | None


class Exploration(Generic[State]):
    """Takes every step from every state that *start* leads to, until a property is violated."""

    def __init__(
        self, start: State, steps: Callable[[State], Iterable[Step[State]]], properties: Properties[State]
    ) -> None:
        self._steps, self._properties = steps, properties
        self._numbers = {start: 0}
        self._states = [start]
        #: For each state: its predecessor and step, its distance, and all states that a step leads to it from.
        self._ways = [(-1, "")]
        self._depths = [0]
        self._before: list[list[int]] = [[]]
        self._done: set[str] = set()

    def run(self) -> Explored:
        """Explore."""
        violation = self._explore() or self._no_way_to_rest()
        count = sum(map(len, self._before))
        return Explored(len(self._states), count, self._depths[-1], frozenset(self._done), violation)

    def _explore(self) -> Violation | None:
        numbers, of_steps = self._numbers, self._properties.of_steps
        for number, state in enumerate(self._states):  # It grows meanwhile
            for step in self._steps(state):
                found = numbers.setdefault(step.state, len(self._states))
                is_new = found == len(self._states)
                if is_new:
                    self._states.append(step.state)
                    self._ways.append((number, f"{step.who}: {step.what}"))
                    self._depths.append(self._depths[number] + 1)
                    self._before.append([])
                self._before[found].append(number)
                self._done.add(step.what)
                for name, complain_of_step in of_steps.items():
                    if complaint := complain_of_step(state, step):
                        return Violation(name, complaint, (*self._way_to(number), f"{step.who}: {step.what}"))
                if is_new:
                    for name, complain in self._properties.of_states.items():
                        if complaint := complain(step.state):
                            return Violation(name, complaint, self._way_to(found))
        return None

    def _no_way_to_rest(self) -> Violation | None:
        can_rest = [self._properties.is_at_rest(state) for state in self._states]
        waiting = [number for number, can in enumerate(can_rest) if can]
        while waiting:
            for before in self._before[waiting.pop()]:
                if not can_rest[before]:
                    can_rest[before] = True
                    waiting.append(before)
        if all(can_rest):
            return None
        return Violation("rest", "it can never end well from here", self._way_to(can_rest.index(False)))

    def _way_to(self, number: int) -> tuple[str, ...]:
        way: list[str] = []
        while number:
            number, what = self._ways[number]
            way.append(what)
        return tuple(reversed(way))
