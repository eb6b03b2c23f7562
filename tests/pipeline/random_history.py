"""Small random journals with planted defects: managers, programs, agents and peers at work, in any order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.pipeline.support import HandWrittenJournal, detail

TRANSMIT = "SYSTEM.QSG.TRANSMIT.QUEUE"
#: Defects that may be planted, and the finding for each.
DEFECTS = ("lost", "duplicated", "out_of_sequence", "unexpected")


@dataclass
class Message:
    """A message that is stored."""

    structure: str
    queue: str
    id: str
    msg_id: str
    group: str = ""
    seq: int = 1


@dataclass
class RandomHistory:
    """Writes some hundred events. Each seed plants some of the defects."""

    journal: HandWrittenJournal
    seed: int
    steps: int = 120
    now_ms: int = 1_700_000_000_000
    planted: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    waiting: list[Message] = field(default_factory=list)
    gone: list[Message] = field(default_factory=list)
    units: int = 0
    groups: int = 0

    def write(self) -> None:
        """Write the journal, and let the structures hold the messages that are on queues at the end."""
        self.journal.define("APPL1", "@EWR", "@JFK")
        chance = self.chance = random.Random(self.seed)
        defects = set(chance.sample(DEFECTS, 2))
        acts = [self.put, self.put, self.put, self.get, self.get, self.get, self.hop, self.leave_open, self.expire]
        open_gets: list[tuple[str, list[Message]]] = []
        for step in range(self.steps):
            self.now_ms += chance.choice((0, 1, 3, 40, 700))
            act = chance.choice(acts)
            if act == self.leave_open:
                open_gets += self.leave_open()
            elif open_gets and chance.random() < 0.1:
                self.end(*open_gets.pop(chance.randrange(len(open_gets))))
            else:
                act()
            if step > self.steps // 3:
                # In one order, so that a seed gives one history.
                defects -= {name for name in sorted(defects) if chance.random() < 0.2 and self.plant(name)}
        for unit, messages in open_gets[1:]:
            self.end(unit, messages)
        self.waiting += [message for _, messages in open_gets[:1] for message in messages]
        for message in self.waiting:
            self.journal.store(message.structure, message.id)

    def put(self) -> None:
        chance = self.chance
        structure = chance.choice(("APPL1", "@EWR", "@JFK"))
        is_igq = structure != "APPL1" and chance.random() < 0.4
        queue = TRANSMIT if is_igq else chance.choice(("Q1", "Q2"))
        self.groups += 1
        group = f"{self.groups:048x}" if chance.random() < 0.5 else ""
        count = chance.randint(1, 4) if group else 1
        messages = [self.new(structure, queue, ".1x" if is_igq else "", group, at + 1) for at in range(count)]
        unit = self.unit(f"{chance.choice(('EWR', 'JFK'))}.1.{chance.randint(1, 2)}.1")
        is_inside = count > 1 or chance.random() < 0.5
        self.journal_put(messages, unit, is_inside=is_inside)
        if not is_inside:
            self.waiting += messages
            return
        if chance.random() < 0.2:
            undone = [self.new(structure, queue, "", "", 1) for _ in range(chance.randint(1, 3))]
            self.journal_put(undone, unit, is_inside=True)
            self.journal.undo(structure, queue, unit, [message.id for message in undone], ms=self.now_ms)
            if chance.random() < 0.3:
                # An empty unit of work, which may never end.
                other = self.unit(unit.partition("/")[0])
                again = self.new(structure, queue, "", "", 1)
                self.journal_put([again], other, is_inside=True)
                self.journal.undo(structure, queue, other, [again.id], ms=self.now_ms)
        self.now_ms += chance.choice((0, 5))
        if chance.random() < 0.2:
            self.journal.prepare(structure, unit, ms=self.now_ms)
        outcome = chance.choice(("commit", "commit", "commit", "backout", "left"))
        if outcome != "left":
            recoverer = "LGA.1.1.1" if chance.random() < 0.2 else ""
            self.journal.end(structure, outcome, unit, len(messages), recoverer=recoverer, ms=self.now_ms)
        if outcome == "commit":
            self.waiting += messages

    def get(self) -> None:
        message = self.take()
        if message is None:
            return
        owner = f"{message.structure[1:] or 'EWR'}.1.{self.chance.randint(5, 6)}.1"
        at, how = (message.structure, message.queue, owner, [message.id]), self.chance.random()
        chosen, logical = how < 0.2, bool(message.group) and how > 0.6
        if self.chance.random() < 0.5:
            self.journal.get(*at, is_chosen=chosen, is_logical=logical, ms=self.now_ms)
            self.gone.append(message)
            return
        unit = self.unit(owner)
        self.journal.get(*at, unit=unit, is_chosen=chosen, is_logical=logical, ms=self.now_ms)
        self.now_ms += self.chance.choice((0, 20))
        self.end(unit, [message])

    def leave_open(self) -> list[tuple[str, list[Message]]]:
        """Gets in a unit of work that ends later."""
        message = self.take()
        if message is None:
            return []
        unit = self.unit(f"JFK.1.{self.chance.randint(5, 6)}.1")
        self.journal.get(message.structure, message.queue, unit[:9], [message.id], unit=unit, ms=self.now_ms)
        return [(unit, [message])]

    def end(self, unit: str, messages: list[Message]) -> None:
        event = self.chance.choice(("commit", "commit", "backout"))
        recoverer = "LGA.1.1.1" if self.chance.random() < 0.3 else ""
        structure = messages[0].structure
        if self.chance.random() < 0.2:
            self.journal.prepare(structure, unit, ms=self.now_ms)
        self.journal.end(structure, event, unit, len(messages), recoverer=recoverer, ms=self.now_ms)
        (self.gone if event == "commit" else self.waiting).extend(messages)

    def hop(self) -> None:
        """An agent moves messages of the transmission queue, or gets and puts them into the other structure."""
        for message in [message for message in self.waiting if message.queue == TRANSMIT]:
            agent = f"{message.structure[1:]}.1.9.1"
            if self.chance.random() < 0.7:
                self.journal.transfer(message.structure, TRANSMIT, "Q1", agent, [message.id], ms=self.now_ms)
                message.queue = "Q1"
                continue
            unit = self.unit(agent)
            self.waiting.remove(message)
            self.journal.get(message.structure, TRANSMIT, agent, [message.id], unit=unit, ms=self.now_ms)
            copy = self.new("APPL1", "Q2", "", message.group, message.seq)
            copy.msg_id = message.msg_id
            self.journal_put([copy], unit, is_inside=True, is_dead=self.chance.random() < 0.3)
            self.now_ms += 1
            self.journal.end(message.structure, "commit", unit, 1, ms=self.now_ms)
            self.journal.end("APPL1", "commit", unit, 1, ms=self.now_ms)
            self.waiting.append(copy)

    def expire(self) -> None:
        message = self.take()
        if message is not None:
            manager = "LGA.1.1.1"
            unit, ends = "", self.chance.choice(("", "commit", "backout"))
            if ends:
                unit = self.unit(manager)
            self.journal.expire(message.structure, message.queue, manager, [message.id], unit=unit, ms=self.now_ms)
            if ends:
                self.now_ms += 1
                self.journal.end(message.structure, ends, unit, 1, ms=self.now_ms)
            if ends == "backout":
                self.waiting.append(message)

    def plant(self, defect: str) -> bool:
        """Whether the defect could be planted at this moment."""
        message = self.take() if defect == "lost" else None
        if message is not None:
            self.planted.add(defect)
        elif defect == "duplicated" and self.gone:
            message = self.chance.choice(self.gone)
            self.journal.get(message.structure, message.queue, "EWR.1.7.1", [message.id], ms=self.now_ms)
            self.planted.add(defect)
        elif defect == "unexpected":
            phantom = f"{1_000_000 + self.numbers.get('APPL1', 0)}"
            self.journal.get("APPL1", "Q1", "EWR.1.7.1", [phantom], ms=self.now_ms)
            self.planted.add(defect)
        elif defect == "out_of_sequence":
            self.groups += 1
            members = [self.new("APPL1", "Q1", "", f"{self.groups:048x}", at + 1) for at in range(3)]
            self.journal_put(members, "EWR.1.1.1/0", is_inside=False)
            for at in (1, 0, 2):
                self.now_ms += self.chance.choice((0, 300))
                self.journal.get("APPL1", "Q1", "EWR.1.7.1", [members[at].id], ms=self.now_ms)
            self.planted.add(defect)
        return defect in self.planted

    def journal_put(self, messages: list[Message], unit: str, *, is_inside: bool, is_dead: bool = False) -> None:
        self.journal.put(
            messages[0].structure,
            messages[0].queue,
            unit.partition("/")[0],
            [message.id for message in messages],
            unit=unit if is_inside else "",
            details=[
                detail(msg_id=each.msg_id, group=each.group, seq=each.seq, is_dead_letter=is_dead) for each in messages
            ],
            ms=self.now_ms,
        )

    def take(self) -> Message | None:
        """A message to get, usually the first of its queue."""
        there = [message for message in self.waiting if message.queue != TRANSMIT]
        if not there:
            return None
        message = there[0] if self.chance.random() < 0.8 else self.chance.choice(there)
        self.waiting.remove(message)
        return message

    def new(self, structure: str, queue: str, mark: str, group: str, seq: int) -> Message:
        # Arrivals take numbers too.
        self.numbers[structure] = number = self.numbers.get(structure, 0) + self.chance.randint(1, 2)
        msg_id = f"{structure.encode().hex():0>16}{number:032x}"
        return Message(structure, queue, f"{number}{mark}", msg_id, group, seq)

    def unit(self, owner: str) -> str:
        self.units += 1
        return f"{owner}/{self.units}"
