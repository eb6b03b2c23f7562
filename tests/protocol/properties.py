"""The invariants of docs/explanation/guarantees.md, as properties of states and steps of the model."""

from __future__ import annotations

from tests.protocol.explorer import Properties, Step
from tests.protocol.world import BACKING_OUT, CHUNK, COMMITTING, FAILED, OK, POSITIONS, TAKEN, World, X, Y


def one_state(world: World) -> str:
    """1. A message is in one state: available, in one unit of work, or gone. A present message never vanishes."""
    places = _places(world)
    wrong = [message for message, found in places.items() if len(found) > 1]
    wrong += [message for message in ("m", "n") if message not in places]
    return f"{wrong[0]} is in {places.get(wrong[0], ())}" if wrong else ""


def fencing(before: World, step: Step[World]) -> str:
    """2. After V is shut out of a structure it changes no message there, and after the claim it decides nothing."""
    after = step.state
    if step.who == "K":
        return _coordinator_fenced(before, after)
    if step.who != "V":
        return ""
    for structure in (X, Y):
        is_changed = (before.available[structure], before.units[structure]) != (
            after.available[structure],
            after.units[structure],
        )
        if is_changed and (before.passed[structure] or before.is_resolved):
            return f"V changed structure {structure} after the fence"
    is_decided = after.is_decided and not before.is_decided
    if before.lease == TAKEN and (is_decided or (after.doubt.was_prepared and not before.doubt.was_prepared)):
        return "V decided after the claim"
    return ""


def _coordinator_fenced(before: World, after: World) -> str:
    for structure in (X, Y):
        was, now = before.doubt, after.doubt
        is_changed = (before.available[structure], before.units[structure], was.units[structure]) != (
            after.available[structure],
            after.units[structure],
            now.units[structure],
        )
        if is_changed and not was.registered[structure]:
            return f"K changed structure {structure} after the fence"
    is_decided = after.doubt.state in (COMMITTING, BACKING_OUT) and before.doubt.state == "?"
    is_claimed = before.doubt.enders[2].at != "claim"
    return "K decided after the claim" if is_claimed and is_decided else ""


def one_decision(world: World) -> str:
    """3. A unit of work is committed or backed out as a whole; if it is prepared, as was decided."""
    ways = set(world.ended[X] + world.ended[Y])
    if world.doubt.was_prepared and not ways <= {world.doubt.state[-1]}:
        return f"it was prepared, and ended {world.ended} where {world.doubt.state} was decided"
    return f"ended both ways: {world.ended}" if len(ways) > 1 else ""


def bounded(before: World, step: Step[World]) -> str:
    """4. No script moves more messages than a chunk has."""
    after = step.state
    if (before.available, before.units, before.doubt.units, before.delivered) == (
        after.available,
        after.units,
        after.doubt.units,
        after.delivered,
    ):
        return ""
    was, now = _places(before), _places(after)
    moved = sum(was.get(message) != now.get(message) for message in POSITIONS)
    return f"one script moved {moved} messages" if moved > CHUNK else ""


def position(world: World) -> str:
    """5. A queue keeps the order of arrival, whatever comes back to it."""
    for there in world.available:
        places = [POSITIONS[message] for message in there]
        if places != sorted(places):
            return f"a queue is in the order {there}"
    return ""


def sequence(world: World) -> str:
    """6. The messages of the serialized stream leave X, and appear on Y, in its order."""
    for log in (world.delivered, world.appeared):
        for first, second in (("m", "n"), ("p", "q")):
            if first in log and second in log and log.index(second) < log.index(first):
                return f"{second} overtook {first}"
    # An overtaken message may also never come.
    if "n" in world.delivered and "m" not in world.delivered:
        return "n overtook m"
    return ""


def kept(world: World) -> str:
    """7. A commit that returned OK is not undone."""
    ways = world.ended[X] + world.ended[Y]
    is_undone = world.outcome == OK and BACKING_OUT in ways
    for how in filter(None, world.doubt.told):
        is_undone |= how not in ways or len(set(ways)) > 1
    return "what was acknowledged is not so" if is_undone else ""


def once(world: World) -> str:
    """8. Nothing is delivered twice."""
    log = world.delivered
    return f"delivered in all: {log}" if len(set(log)) < len(log) else ""


def outcomes(world: World) -> str:
    """9. A commit that is reported as failed has not happened, and no call happens twice."""
    if world.outcome == FAILED and (world.is_decided or COMMITTING in world.ended[X] + world.ended[Y]):
        return "a commit that was said to have failed took place"
    log = world.appeared
    return f"put in all: {log}" if len(set(log)) < len(log) else ""


def is_at_rest(world: World) -> bool:
    """Whether the dead V is forgotten: nothing of it is left, and its successor has finished."""
    is_forgotten = world.is_resolved and world.units == (None, None) == world.doubt.units
    if world.doubt.was_prepared and not world.doubt.state.startswith("done"):
        return False
    return is_forgotten and world.successor == "over" and "m" in world.delivered


def _places(world: World) -> dict[str, tuple[str, ...]]:
    """The place of each message. A message that is twice in one place has that place twice."""
    places: dict[str, tuple[str, ...]] = {}

    def add(message: str, place: str) -> None:
        places[message] = (*places.get(message, ()), place)

    for structure in (X, Y):
        for message in world.available[structure]:
            add(message, f"available {structure}")
        # Work that is set apart is not elsewhere: it is the same unit of work.
        for unit in (world.units[structure], world.doubt.units[structure]):
            for kind, message in unit.operations if unit is not None else ():
                add(message, f"unit of work {structure} {kind}")
    for message in world.delivered:
        add(message, "gone")
    return places


#: By the number and name that docs/explanation/guarantees.md gives them.
PROPERTIES = Properties(
    of_states={
        "1. One state, one script": one_state,
        "3. One decision": one_decision,
        "5. Position": position,
        "6. Sequence under failure": sequence,
        "7. Acknowledged means kept": kept,
        "8. Once": once,
        "9. Three outcomes": outcomes,
    },
    of_steps={"2. Fencing": fencing, "4. Bounded scripts": bounded},
    is_at_rest=is_at_rest,
)
