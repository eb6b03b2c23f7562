"""The steps of a unit of work that an external coordinator prepares, besides those of `tests.protocol.protocol`.

V prepares instead of committing. K, a program of the coordinator, says commit; an operator, O, says one or the other,
at any moment and also what K said. K may die after any step, or be taken for dead: R3 recovers it, and completes what
it decided. Each of them repeats what others may be doing at the same time.
"""

from __future__ import annotations

from itertools import pairwise

from tests.protocol.explorer import Step
from tests.protocol.protocol import LEAVING, Protocol, RecovererSteps, Steps
from tests.protocol.world import (
    ACTIVE,
    BACKING_OUT,
    COMMITTING,
    GET,
    LAPSED,
    NAMES,
    PUT,
    Ender,
    InDoubt,
    Recoverer,
    Rules,
    Scenario,
    Unit,
    World,
    X,
    Y,
    replaced,
)

#: Places of the processes that end it. O is between the two.
K, R3 = 0, 2
_WHO = ("K", "O", "R3")
_SCRIPTS = {COMMITTING: "structure/commit", BACKING_OUT: "structure/backout"}


class InDoubtProtocol(Protocol):
    """As `Protocol`, from the state in which V has done its work in both structures."""

    def __init__(self, scenario: Scenario, rules: Rules) -> None:
        super().__init__(scenario, rules)
        self._next = dict(pairwise(["prepare", "apart X", "apart Y", *LEAVING, "over"]))

    def start(self) -> World:
        """The first state."""
        at_work = self._scenario.in_doubt
        # If recoverers of V presume a backout, a commit is the outcome that can go wrong.
        says = Ender("decide", "" if "K" in at_work else COMMITTING)
        starts = zip(_WHO, (Ender("decide", COMMITTING), says, Ender("claim")), strict=True)
        coordinator, operator, recoverer = (start if who in at_work else Ender() for who, start in starts)
        recoverers = [Recoverer() if who in at_work else Recoverer(at="over") for who in ("R1", "R2")]
        got, put = Unit(ACTIVE, ((GET, "m"),)), Unit(ACTIVE, ((PUT, "p"),))
        world = World(
            available=(("n",), ()),
            units=(got, put),
            registered=(True, True),
            lease=LAPSED,
            victim="prepare",
            recoverers=(recoverers[0], recoverers[1]),
            consumer=0,
            doubt=InDoubt(enders=(coordinator, operator, recoverer)),
        )
        if "V" in at_work:
            return world
        doubt = world.doubt._replace(state="?", is_noted=True, was_prepared=True)
        return _set_apart(world._replace(victim="over", tag="VD", doubt=doubt), X)

    def steps(self, world: World) -> Steps:
        """All steps that may come next."""
        yield from super().steps(world)
        for number, ender in enumerate(world.doubt.enders):
            if ender.at != "over":
                yield from self._ending(world, number, ender)
        if world.doubt.enders[K].at not in ("decide", "over"):
            yield Step("K", "dies", _ender_at(world, K, Ender()))

    # -- V and its recoverers --------------------------------------------------------------------------------------

    def _victim(self, world: World, verb: str, name: str = "X", how: str = "") -> Steps:
        going = world._replace(victim=self._next[world.victim])
        if verb == "prepare":
            if self._may_not_decide(world):
                yield Step("V", "admin/prepare: 2009", self._broken(world))
            else:
                doubt = world.doubt._replace(state="?", is_noted=True, was_prepared=True)
                yield Step("V", "admin/prepare", going._replace(doubt=doubt, tag=world.tag + "D"))
        elif verb == "apart":
            structure = NAMES.index(name)
            if not world.registered[structure]:
                yield Step("V", "structure/set_apart: 2009", self._broken(world))
            else:
                yield Step("V", "structure/set_apart", _set_apart(going, structure))
        elif verb == "forget":
            yield Step("V", "admin/forget", going._replace(doubt=world.doubt._replace(is_noted=False)))
        else:
            yield from super()._victim(world, verb, name, how)

    def _claiming(self, world: World, mine: Recoverer, who: str) -> RecovererSteps:
        for script, changed, now in super()._claiming(world, mine, who):
            yield script, self._forgotten(changed) if script == "admin/finish_recovery" else changed, now

    def _forgotten(self, world: World) -> World:
        world = world._replace(doubt=world.doubt._replace(is_noted=False))
        if self._rules.tag_waits_for_what_is_in_doubt:
            return world
        return world._replace(tag=world.tag.replace("D", ""))

    def _resolving(self, world: World, mine: Recoverer, who: str) -> RecovererSteps:
        is_left = world.doubt.is_noted and self._rules.recoverer_leaves_what_is_in_doubt
        if mine.at == "decision" and is_left:
            yield "read of the decision", world, mine._replace(at="apart")
        elif mine.at == "apart":
            yield "structure/set_apart", _set_apart(world, mine.structure), mine._replace(at="read")
        else:
            yield from super()._resolving(world, mine, who)

    # -- K, O and R3 -----------------------------------------------------------------------------------------------

    def _ending(self, world: World, number: int, ender: Ender) -> Steps:
        verb, _, name = ender.at.partition(" ")
        who = _WHO[number]
        if verb == "decide":
            yield from self._deciding(world, number, ender)
        elif verb in ("claim", "shut", "look"):
            yield from self._recovering(world, verb, name)
        elif verb == "complete":
            yield Step(who, "admin/complete", _completed(world, number, ender.how))
        else:
            structure = NAMES.index(name)
            script = "structure/set_apart" if verb == "apart" else _SCRIPTS[ender.how]
            if number == K and not world.doubt.registered[structure]:
                yield Step(who, f"{script}: 2009", _ender_at(world, K, Ender()))
            elif verb == "apart":
                yield Step(
                    who, script, _ender_at(_set_apart(world, structure), number, ender._replace(at=f"end {name}"))
                )
            else:
                after = self._ended_apart(world, structure, ender.how)
                then = ("apart Y", "complete")[structure] if after.doubt.units[structure] is None else ender.at
                yield Step(who, script, _ender_at(after, number, ender._replace(at=then)))

    def _deciding(self, world: World, number: int, ender: Ender) -> Steps:
        doubt, who = world.doubt, _WHO[number]
        if number == K and doubt.is_fenced:
            yield Step(who, "admin/decide_prepared: 2009", _ender_at(world, number, Ender()))
            return
        # Before it is in doubt its id is unknown, and the caller may ask again.
        for how in (ender.how or COMMITTING + BACKING_OUT) if doubt.state else "":
            if doubt.state not in ("?", how) and self._rules.end_of_doubt_is_decided_first:
                yield Step(who, f"admin/decide_prepared: {doubt.state}", _ender_at(world, number, Ender()))
            else:
                decided = doubt
                if self._rules.end_of_doubt_is_decided_first:
                    decided = doubt._replace(state=how, by=who)
                now = Ender("apart X", how)
                yield Step(who, "admin/decide_prepared", _ender_at(world._replace(doubt=decided), number, now))

    def _recovering(self, world: World, verb: str, name: str) -> Steps:
        """R3: K is taken for dead, at any moment, and shut out. Then R3 reads what K decided."""
        doubt = world.doubt
        if verb == "claim":
            is_fenced = self._rules.coordinator_is_shut_out_first
            changed = world._replace(doubt=doubt._replace(is_fenced=is_fenced))
            yield Step("R3", "admin/claim", _ender_at(changed, R3, Ender("shut X")))
        elif verb == "shut":
            structure = NAMES.index(name)
            changed = world._replace(doubt=doubt._replace(registered=replaced(doubt.registered, structure, False)))
            then = "look" if structure == Y else "shut Y"
            yield Step("R3", "structure/fence: the owners", _ender_at(changed, R3, Ender(then)))
        else:
            is_decided = doubt.state in (COMMITTING, BACKING_OUT) and doubt.by == "K"
            is_completed = is_decided and self._rules.end_of_doubt_outlives_who_decided
            now = Ender("apart X", doubt.state) if is_completed else Ender()
            changed = world._replace(doubt=doubt._replace(is_fenced=True))
            yield Step("R3", "read of what is in doubt", _ender_at(changed, R3, now))

    def _ended_apart(self, world: World, structure: int, how: str) -> World:
        """The next chunk of the prepared work, as for any unit of work that is stored elsewhere."""
        there = world.units
        apart = self._ended(world._replace(units=world.doubt.units), structure, how)
        return apart._replace(units=there, doubt=world.doubt._replace(units=apart.units))


def _set_apart(world: World, structure: int) -> World:
    unit = world.units[structure]
    # Except work whose backout has begun, or that was set apart before.
    if unit is None or unit.state != ACTIVE:
        return world
    apart = world.doubt._replace(units=replaced(world.doubt.units, structure, unit))
    return world._replace(units=replaced(world.units, structure, None), doubt=apart)


def _completed(world: World, number: int, how: str) -> World:
    doubt = world.doubt
    if number != R3:
        doubt = doubt._replace(told=replaced(doubt.told, number, how))
    if not doubt.state.startswith("done"):
        doubt = doubt._replace(state=f"done {how}")
        world = world._replace(tag=world.tag.replace("D", ""))
    return _ender_at(world._replace(doubt=doubt), number, Ender())


def _ender_at(world: World, number: int, now: Ender) -> World:
    enders = list(world.doubt.enders)
    enders[number] = now
    return world._replace(doubt=world.doubt._replace(enders=(enders[0], enders[1], enders[2])))
