"""The steps of the protocol: one for each script of a unit of work, of a recovery and of connecting.

A pause needs no step of its own: any process may be the one that is never chosen next. V and R1 may also end for
good, so that what the others can still do without them is seen. Nobody stops by looking at its own clock, and leases
and claims run out at any moment: the fence alone must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.protocol.explorer import Step
from tests.protocol.world import (
    ACTIVE,
    BACKING_OUT,
    CHUNK,
    COMMITTING,
    FAILED,
    GET,
    HELD,
    LAPSED,
    NAMES,
    OK,
    POSITIONS,
    PUT,
    TAKEN,
    UNKNOWN,
    Recoverer,
    Rules,
    Scenario,
    Unit,
    World,
    X,
    Y,
    replaced,
)

Steps = Iterator[Step[World]]
#: A script, the state that it leads to, and the recoverer's place then.
RecovererSteps = Iterator[tuple[str, World, Recoverer]]
_SCRIPTS = {COMMITTING: "structure/commit", BACKING_OUT: "structure/backout"}
#: V's steps after its unit of work, in this order.
LEAVING = ("detach X", "detach Y", "forget", "disconnect")


class Protocol:
    """All steps that can be taken in a state."""

    def __init__(self, scenario: Scenario, rules: Rules) -> None:
        self._scenario, self._rules = scenario, rules
        self._commit = self._way_to_commit()
        self._backout = [f"end {name} {BACKING_OUT}" for name in scenario.structures]
        self._next: dict[str, str] = {}
        for way in ([*scenario.work, "choose"], [*self._commit, *LEAVING, "over"], [*self._backout, LEAVING[0]]):
            self._next.update(pairwise(way))

    def start(self) -> World:
        """The first state."""
        return World(is_y_defined=self._scenario.is_y_defined)

    def steps(self, world: World) -> Steps:
        """All possible next steps."""
        if world.lease == HELD:
            yield Step("clock or admin/suspect", "a lease runs out", world._replace(lease=LAPSED))
        elif world.lease == LAPSED and world.victim != "over":
            # A renewal that was late, or the answer to a suspicion.
            yield Step("V", "admin/renew", world._replace(lease=HELD))
        if not world.is_y_defined:
            yield Step("operator", "admin/define_structure", world._replace(is_y_defined=True))
        if world.victim != "over":
            yield Step("V", "dies, or its connection breaks", self._broken(world))
            yield from self._victim(world, *world.victim.split())
        for number in (0, 1):
            yield from self._recoverer(world, number, world.recoverers[number])
        yield from self._successor(world)
        if world.consumer and world.available[Y]:
            yield Step("U", "structure/get", _delivered(world._replace(consumer=world.consumer - 1), Y))

    # -- V: enters, works, ends its unit of work, leaves -----------------------------------------------------------

    def _way_to_commit(self) -> list[str]:
        applying = [f"end {name} {COMMITTING}" for name in self._scenario.structures]
        if len(applying) == 1:
            # The script that applies it decides.
            way = applying
        elif self._rules.decision_comes_first:
            way = ["decide", *applying]
        else:
            way = [applying[0], "decide", *applying[1:]]
        return [*way, "succeed"] if self._rules.success_is_told_last else ["succeed", *way]

    def _broken(self, world: World) -> World:
        outcome = world.outcome
        if world.victim in self._commit and not outcome:
            outcome = UNKNOWN if self._rules.lost_reply_is_unknown else FAILED
        return world._replace(victim="over", outcome=outcome)

    def _victim(self, world: World, verb: str, name: str = "X", how: str = "") -> Steps:
        going = world._replace(victim=self._next.get(world.victim, ""))
        if verb == "choose":
            yield Step("V", "MQCMIT", world._replace(victim=self._commit[0]))
            yield Step("V", "MQBACK", world._replace(victim=self._backout[0]))
        elif verb in ("attach", "check"):
            yield from self._entering(world, going, verb, NAMES.index(name))
        elif verb in ("get", "put", "end", "drop"):
            yield from self._working(world, going, verb, NAMES.index(name), how)
        elif verb == "decide":
            if self._may_not_decide(world):
                yield Step("V", "admin/decide: 2009", self._broken(world))
            else:
                yield Step("V", "admin/decide", going._replace(is_decided=True))
        elif verb == "succeed":
            yield Step("V", "the call returns", going._replace(outcome=OK))
        else:
            yield from self._leaving(world, going, verb, name)

    def _may_not_decide(self, world: World) -> bool:
        return world.is_fenced or (not world.is_known and self._rules.deciding_asks_who_is_known)

    def _entering(self, world: World, going: World, verb: str, structure: int) -> Steps:
        if verb == "check":
            is_shut_out = world.is_fenced or (not world.is_known and self._rules.entering_asks_who_is_known)
            if is_shut_out and self._rules.entering_is_checked_again:
                yield Step("V", "admin/check_owner: 2009", self._broken(world))
            else:
                yield Step("V", "admin/check_owner", going)
        elif world.marked[structure]:
            yield Step("V", "structure/attach: 2009", self._broken(world))
        elif structure == X or world.is_y_defined:
            registered = replaced(world.registered, structure, True)
            yield Step("V", "structure/attach", going._replace(registered=registered))

    def _working(self, world: World, going: World, verb: str, structure: int, how: str) -> Steps:
        """V's gets and puts, and the end of its unit of work in a structure, a chunk at a time."""
        if verb == "drop":
            after = self._dropped(world, structure, how)
            ending = f"end {NAMES[structure]} {how}"
            done = after.units[structure] is None
            yield Step("V", "(the record of it)", after._replace(victim=self._next[ending] if done else ending))
            return
        script = _SCRIPTS.get(how, f"structure/{verb}")
        if self._rules.scripts_look_their_caller_up and not world.registered[structure]:
            yield Step("V", f"{script}: 2009", self._broken(world))
        elif verb == "get":
            yield Step("V", script, _got(going, structure))
        elif verb == "put":
            yield Step("V", script, _recorded(going, structure, PUT, "p"))
        else:
            after = self._ended(world, structure, how)
            if not self._rules.effect_and_record_change_together:
                after = after._replace(victim=f"drop {NAMES[structure]} {how}")
            elif after.units[structure] is None:
                after = after._replace(victim=going.victim)
            yield Step("V", script, after)

    def _leaving(self, world: World, going: World, verb: str, name: str) -> Steps:
        structure = NAMES.index(name)
        if verb == "forget":
            yield Step("V", "admin/forget", going._replace(is_decided=False))
        elif verb == "disconnect":
            yield Step("V", "admin/disconnect", going._replace(tag=world.tag.replace("V", ""), is_known=False))
        elif name not in self._scenario.structures:
            # It was never there.
            yield Step("V", "the call returns", going)
        elif not world.registered[structure] or world.units[structure] is not None:
            yield Step("V", "structure/detach: 2009", self._broken(world))
        else:
            registered = replaced(world.registered, structure, False)
            yield Step("V", "structure/detach", going._replace(registered=registered))

    # -- R1 and R2: claim, shut out, resolve, finish ---------------------------------------------------------------

    def _recoverer(self, world: World, number: int, mine: Recoverer) -> Steps:
        if mine.at == "over":
            return
        who = f"R{number + 1}"
        if number == 0:
            yield Step(who, "dies", _recoverer_at(world, number, Recoverer(at="over")))
        phase: Callable[[World, Recoverer, str], RecovererSteps] = self._resolving
        if mine.at in ("claim", "list", "finish", "end of recovery"):
            phase = self._claiming
        elif mine.at in ("mark", "scan", "shut", "unfence"):
            phase = self._shutting_out
        for script, changed, now in phase(world, mine, who):
            yield Step(who, script, _recoverer_at(changed, number, now))

    def _claiming(self, world: World, mine: Recoverer, who: str) -> RecovererSteps:
        if mine.at == "list":
            yield "list of structures", world, Recoverer(at="mark", listed=1 + world.is_y_defined)
        elif mine.at == "claim":
            if world.is_resolved:
                yield "admin/claim: nothing", world, Recoverer(at="over")
            elif world.lease != HELD:
                # Also if another process has the claim, which may have run out.
                yield "admin/claim", self._claimed(world, who), Recoverer(at="list")
        elif world.claimant != who:
            yield "admin/finish_recovery: lost", world, Recoverer()
        elif mine.at == "finish":
            changed = self._unknown(world) if self._rules.fences_go_last else world._replace(is_fenced=False)
            yield "admin/finish_recovery: its first part", changed, Recoverer("unfence", X, mine.listed)
        else:
            changed = world._replace(is_fenced=False) if self._rules.fences_go_last else self._unknown(world)
            finished = changed._replace(is_resolved=True, claimant="", is_decided=False)
            yield "admin/finish_recovery", finished, Recoverer(at="over")

    def _shutting_out(self, world: World, mine: Recoverer, _who: str) -> RecovererSteps:
        structure = mine.structure
        if mine.at == "mark":
            if self._rules.structures_are_marked:
                world = world._replace(marked=replaced(world.marked, structure, True))
            yield "structure/fence: the mark", world, mine._replace(at="scan")
        elif mine.at == "unfence":
            unmarked = world._replace(marked=replaced(world.marked, structure, False))
            yield "structure/unfence", unmarked, _next_structure(mine, "unfence", "end of recovery")
        elif mine.at == "scan":
            yield "scan of own", world, mine._replace(at="shut", found=world.registered[structure])
        else:
            changed = world._replace(passed=replaced(world.passed, structure, True))
            if mine.found and world.registered[structure]:
                changed = changed._replace(
                    registered=replaced(world.registered, structure, False), dead=replaced(world.dead, structure, True)
                )
            yield "structure/fence: the owners", changed, _next_structure(mine, "mark", "look")

    def _resolving(self, world: World, mine: Recoverer, _who: str) -> RecovererSteps:
        structure = mine.structure
        unit = world.units[structure]
        if mine.at == "look":
            now = mine._replace(at="read") if world.dead[structure] else _next_structure(mine, "look", "finish")
            yield "scan of dead", world, now
        elif mine.at == "read":
            at = "release" if unit is None else "end" if unit.state == COMMITTING else "decision"
            yield "read of the unit of work", world, mine._replace(at=at, how=COMMITTING if at == "end" else "")
        elif mine.at == "decision":
            how = COMMITTING if world.is_decided else BACKING_OUT
            yield "read of the decision", world, mine._replace(at="end", how=how)
        elif mine.at == "drop":
            yield "(the record of it)", self._dropped(world, structure, mine.how), mine._replace(at="read", how="")
        elif mine.at == "end":
            now = mine._replace(at="read", how="")
            if not world.dead[structure]:
                # A recoverer that was overtaken meanwhile finds no dead here. It begins again, as after any error.
                now = Recoverer()
            else:
                world = self._ended(world, structure, mine.how)
                if not self._rules.effect_and_record_change_together:
                    now = mine._replace(at="drop")
            yield _SCRIPTS[mine.how], world, now
        elif unit is not None:
            yield "structure/release: not resolved", world, Recoverer()
        else:
            released = world._replace(dead=replaced(world.dead, structure, False))
            yield "structure/release", released, _next_structure(mine, "look", "finish")

    def _unknown(self, world: World) -> World:
        """The group does not know V any more, and its tag is free."""
        world = world._replace(is_known=False)
        return world._replace(tag=world.tag.replace("V", "")) if self._rules.recovery_frees_the_tag else world

    def _claimed(self, world: World, who: str) -> World:
        world = world._replace(lease=TAKEN, claimant=who, is_fenced=self._rules.recoverer_shuts_out_before_it_looks)
        if world.tag == "V" and not self._rules.tag_waits_for_the_last_step:
            world = world._replace(tag="")
        return world

    # -- W: takes the tag, gets, puts ------------------------------------------------------------------------------

    def _successor(self, world: World) -> Steps:
        at = world.successor
        if at == "connect" and not world.tag:
            yield Step("W", "admin/connect", world._replace(tag="W", successor="get 1"))
        elif at.startswith("get"):
            going = world._replace(successor="get 2" if at == "get 1" else "put")
            yield Step("W", "structure/get", _delivered(going, X) if world.available[X] else going)
        elif at == "put":
            put = _appeared(world, Y, "q")
            yield Step("W", "structure/put_plain", put._replace(successor="over"))
            if not self._rules.calls_are_sent_once and "q" not in world.appeared:
                yield Step("W", "structure/put_plain, its reply is lost", put)

    # -- what commit and back-out do -------------------------------------------------------------------------------

    def _ended(self, world: World, structure: int, how: str) -> World:
        """structure/commit or structure/backout: the next chunk."""
        unit = world.units[structure]
        if unit is None or (how == BACKING_OUT and unit.state == COMMITTING):
            return world
        for kind, message in unit.operations[: self._chunk(unit)]:
            if how == COMMITTING:
                world = _appeared(world, structure, message) if kind == PUT else _gone(world, message)
            elif kind == GET:
                world = self._put_back(world, structure, message)
        ended = world.ended[structure]
        world = world._replace(ended=replaced(world.ended, structure, ended if how in ended else ended + how))
        return self._dropped(world, structure, how) if self._rules.effect_and_record_change_together else world

    def _dropped(self, world: World, structure: int, how: str) -> World:
        """Applied operations leave the unit of work, which remembers how it must go on."""
        unit = world.units[structure]
        if unit is None:
            return world
        left = unit.operations[self._chunk(unit) :]
        state = how if self._rules.large_unit_remembers_its_decision else unit.state
        return world._replace(units=replaced(world.units, structure, Unit(state, left) if left else None))

    def _chunk(self, unit: Unit) -> int:
        return CHUNK if self._rules.work_is_done_in_chunks else len(unit.operations)

    def _put_back(self, world: World, structure: int, message: str) -> World:
        there = (*world.available[structure], message)
        if self._rules.backout_returns_to_the_place:
            there = tuple(sorted(there, key=POSITIONS.__getitem__))
        return world._replace(available=replaced(world.available, structure, there))


def _got(world: World, structure: int) -> World:
    there = world.available[structure]
    if not there:
        return world
    world = world._replace(available=replaced(world.available, structure, there[1:]))
    return _recorded(world, structure, GET, there[0])


def _recorded(world: World, structure: int, kind: str, message: str) -> World:
    unit = world.units[structure] or Unit(ACTIVE, ())
    unit = unit._replace(operations=(*unit.operations, (kind, message)))
    return world._replace(units=replaced(world.units, structure, unit))


def _appeared(world: World, structure: int, message: str) -> World:
    there = tuple(sorted((*world.available[structure], message), key=POSITIONS.__getitem__))
    return world._replace(available=replaced(world.available, structure, there), appeared=(*world.appeared, message))


def _delivered(world: World, structure: int) -> World:
    first, *rest = world.available[structure]
    return _gone(world._replace(available=replaced(world.available, structure, tuple(rest))), first)


def _gone(world: World, message: str) -> World:
    return world._replace(delivered=(*world.delivered, message))


def _recoverer_at(world: World, number: int, now: Recoverer) -> World:
    return world._replace(recoverers=replaced(world.recoverers, number, now))


def _next_structure(mine: Recoverer, same: str, then: str) -> Recoverer:
    """Continue with the next structure of the list, or with the next phase."""
    if mine.structure + 1 < mine.listed:
        return Recoverer(same, mine.structure + 1, mine.listed)
    return Recoverer(then, X, mine.listed)
