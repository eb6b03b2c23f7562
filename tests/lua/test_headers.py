"""The promises of each Lua script's header, held against its body."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC
from sharedq.redis.pasted_text import definitions, pasted
from sharedq.redis.script_source import load_script, script_names, script_text, uses
from tests.lua.commands import READS, WRITES
from tests.support.each import for_each

ROOT = Path(__file__).parents[2]
LUA = ROOT / "sharedq" / "lua"
SECTIONS = ("KEYS", "ARGV", "REPLY", "REASONS", "INVARIANTS", "COST")
ALL_SECTIONS = (*SECTIONS, "EXTENDS", "MEMORY", "RIGHTS", "USES", "SOURCE")

#: How a script makes sure, itself or by a piece of the prelude, that its caller may still change anything.
FENCES = (
    r"\bis_fenced\(",
    r"\bmay_not_end\(",
    r"\bis_dead\(",
    r"\bis_registered\(",
    r"\bis_shut_out\(",
    r"\bclaimed_record\(",
    # Nobody but the recovery that is under way can have anything there.
    r'redis\.call\("HGET", KEYS\[1\], "RECOVER"\) ~= ARGV\[1\] then return',
    r'redis\.call\("HEXISTS", KEYS\[1\], (ARGV\[1\]|owner)\) == 0 then return { MQRC\.CONNECTION_BROKEN }',
    # A short cut for the owner itself; other callers go the long way.
    r'redis\.call\("HEXISTS", own, caller\) == 1 then',
    # The owner's own entry is read (its waiting state), and without one the script ends.
    r"if not (state|waiting) then return { MQRC\.CONNECTION_BROKEN }",
    r"or dead\[2\] or dead\[3\] then return { MQRC\.CONNECTION_BROKEN }",
    r"if not has_ended [^\n]*\n    return { MQRC\.CONNECTION_BROKEN }",
    r"if not info or info\.incarnation ~= .* then return { MQRC\.CONNECTION_BROKEN }",
    # An attempt to remove a member: only the latest goes on, and none after a later start of that member.
    r"if not info or info\.removing ~= attempt then return { MQRC\.CONNECTION_BROKEN }",
    r'if tonumber\(redis\.call\("HGET", KEYS\[1\], ARGV\[1\]\) or 0\) > .* then return { MQRC\.CONNECTION_BROKEN }',
)
#: Scripts that write without looking their caller up, and why they may.
UNFENCED = {
    "admin/abandon": "it shuts out a connection that its own process gave up, and makes its lease run out",
    "admin/alter_qmgr": "a definition, by compare and set: an operator's, not an owner's",
    "admin/upgrade": "an operator's, not an owner's; it looks up everybody who is registered",
    "admin/claim_job": "whose turn it is; doing a job twice is harmless",
    "admin/complete": "what every structure has applied; ids of units of work are never used again",
    "admin/define_topic": "a definition, by compare and set: an operator's, not an owner's",
    "admin/add_orphan": "a queue of a connection that ends; only a queue that it has made is deleted",
    "admin/forget_orphan": "a queue that is deleted, by compare and set",
    "admin/define_structure": "a definition: an operator's, not an owner's",
    "admin/disconnect": "it removes what is the caller's own only",
    "admin/end_process": "it removes what is the caller's own only",
    "admin/forget": "decisions that every structure has applied; ids of units of work are never used again",
    "admin/join": "it makes a new incarnation, in which nobody can have been fenced",
    "admin/note_deed": "what people are told; nothing is decided by it",
    "admin/note_figures": "what people are told; nothing is decided by it",
    "admin/note_read": "that a unit of work in doubt was read, by any process; it moves no message",
    "admin/register_process": "it makes a new process, under a lease that it checks",
    "admin/remove_begin": "an operator's; it looks itself whether the manager is alive",
    "admin/remove_object": "a definition, by compare and set",
    "admin/remove_authority": "an authority record: an operator's, not an owner's",
    "admin/restore_begin": "an operator's; that a structure has failed, which the next process that sees it corrects",
    "admin/remove_structure": "a definition: an operator's, not an owner's",
    "admin/renew": "only leases that are there, of no replaced incarnation: a claim takes them away",
    "admin/define_named": "a definition, by compare and set: an operator's, not an owner's",
    "admin/tell_change": "that there is something to look at; in vain it costs a look",
    "admin/suspect": "a lease that runs out sooner, by a manager whose own is in force; what lives renews it",
    "admin/tell_news": "that there is something to look at; in vain it costs a look",
    "admin/set_settings": "the group's settings, by compare and set: an operator's, not an owner's",
    "admin/set_authority": "an authority record: an operator's, not an owner's",
    "admin/structure_state": "what was seen of a structure, by compare and set; nothing is decided by it",
    "structure/arm_queues": "what is counted for people; nothing is decided by it",
    "structure/discard": "messages that were set aside, which no owner can reach",
    "structure/look_again": "a mover looks once more at messages that it passed over; it changes none",
    "structure/mark_initiation": "what managers are told; nothing is decided by it",
    "structure/owe_trigger": "that there is something to look at; in vain it costs a look",
    "structure/note_event": "what people are told; nothing is decided by it",
    "structure/reset_counts": "what is counted for people; nothing is decided by it",
    "structure/restore_begin": "an operator's; where a queue can be used, it changes nothing",
    "structure/set_partition": "a definition; an older version changes nothing",
    "structure/set_versions": "versions; an older one changes nothing",
    "structure/take_events": "what people are told; nothing is decided by it",
    "structure/wake": "a wake-up in vain costs a call",
    "structure/wake_all": "a wake-up in vain costs a call",
}
#: Commands whose work the script does not limit, and their limits.
UNBOUNDED = {
    ("admin/define_object", "HKEYS"): "the managers of a group",
    ("admin/define_topic", "HVALS"): "the administrative topics of a group, for an operator's command",
    ("admin/leave", "ZRANGE"): "the managers and programs of a group, once in a manager's life",
    ("admin/remove_begin", "HKEYS"): "the structures of a group that ever failed, for an operator's command",
    ("admin/restore_begin", "HKEYS"): "the managers of a group, for an operator's command",
    ("admin/remove_begin", "ZRANGE"): "the managers and programs of a group, for an operator's command",
    ("admin/upgrade", "ZRANGE"): "the managers and programs of a group, for an operator's command",
    ("structure/backup_changes", "HVALS"): "browsing handles with locks, in a call for a backup",
    ("structure/backup_page", "HVALS"): "browsing handles with locks, in a call for a backup",
    ("structure/take_lost", "HKEYS"): "owners and cleared queues, which it counts before",
    ("structure/take_lost", "HVALS"): "browsing handles with locks, for an operator's command",
    ("structure/take_lost", "LRANGE"): "units of work whose operations it counts before",
    ("structure/tidy", "HVALS"): "handles of a queue, for an operator's command",
    ("structure/commit_put", "LRANGE"): "operations of a unit of work no larger than a chunk, by its caller",
}


@dataclass(frozen=True)
class Source:
    """A script or prelude piece: its header as it stands in its file, and its body with what is pasted into it."""

    name: str
    sections: dict[str, str]
    body: str
    uses: tuple[str, ...]

    @property
    def code(self) -> str:
        """The body without comments."""
        return re.sub(r"--.*", "", self.body)

    def numbered(self, section: str) -> tuple[set[int], int | None]:
        """The numbers that a section lists, and the number from which it takes any (`7..`), if it does."""
        text = self.sections[section]
        variadic = re.search(r"^\s+(\d*)\.\.", text, re.MULTILINE)
        first = (int(variadic[1]) if variadic[1] else 1000) if variadic else None
        listed = {int(number) for number in re.findall(r"(?:^\s+|, )(\d+) +\w", text, re.MULTILINE)}
        if variadic and not variadic[1]:
            first = max(listed) + 1
        return listed, first


@cache
def read(name: str) -> Source:
    header, body = script_text(name)
    found: dict[str, str] = {}
    current = ""
    for line in header.splitlines():
        word = re.match(rf"({'|'.join(ALL_SECTIONS)})\b", line)
        if word:
            current = word[1]
            found[current] = " " * len(current) + line[len(current) :] + "\n"
        elif current:
            found[current] += line + "\n"
    return Source(name, found, pasted(name, body), uses(header))


PIECES = tuple(sorted(path.stem for path in (LUA / "prelude").glob("*.lua")))


@cache
def defined_by(piece: str) -> frozenset[str]:
    """Names that a prelude piece gives to scripts."""
    code = read(f"prelude/{piece}").code
    names = set(re.findall(r"^local function (\w+)", code, re.MULTILINE))
    for group in re.findall(r"^local ([\w, ]+?) =", code, re.MULTILINE):
        names.update(name.strip() for name in group.split(","))
    return frozenset(names)


def with_their_own(pieces: tuple[str, ...]) -> set[str]:
    """The pieces and those that they use."""
    found = set(pieces)
    for piece in pieces:
        found |= with_their_own(read(f"prelude/{piece}").uses)
    return found


@cache
def functions_of(piece: str) -> dict[str, str]:
    """Text of each function of a prelude piece."""
    parts = re.split(r"^local function (\w+)", read(f"prelude/{piece}").code, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@cache
def reached_code(name: str) -> str:
    """A script's code and that of the prelude functions which it reaches."""
    source = read(name)
    known: dict[str, str] = {}
    for piece in with_their_own(source.uses):
        known |= functions_of(piece)
    text, seen = source.code, set[str]()
    while found := {function for function in known if re.search(rf"\b{function}\(", text)} - seen:
        seen |= found
        text += "".join(known[function] for function in found)
    return text


def commands(code: str) -> set[str]:
    return set(re.findall(r'redis\.p?call\(\s*"(\w+)"', code))


def calls(code: str) -> list[str]:
    """The arguments of each redis.call, as they are written."""
    found = []
    code = re.sub(r'"[^"\n]*"', lambda text: text[0].translate({40: None, 41: None}), code)
    for match in re.finditer(r"redis\.p?call\(", code):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        found.append(code[match.end() : end - 1])
    return found


def is_unbounded(call: str) -> bool:
    """Whether nothing in the call itself limits what it reads."""
    command = call.split('"')[1]
    if command in ("ZRANGE", "LRANGE"):
        return bool(re.search(r", 0, -1\b", call))
    if command in ("ZRANGEBYLEX", "ZREVRANGEBYLEX", "ZRANGEBYSCORE"):
        return '"LIMIT"' not in call
    if command == "XRANGE":
        return '"COUNT"' not in call
    return command in ("SMEMBERS", "HGETALL", "HKEYS", "HVALS", "KEYS", "SORT")


@for_each(script_names())
def test_the_header_is_complete(name: str) -> None:
    source = read(name)
    assert [section for section in SECTIONS if section not in source.sections] == []
    assert all(source.sections[section].strip() for section in ("REPLY", "REASONS", "INVARIANTS", "COST"))
    assert (LUA / f"{name}.lua").read_text("utf-8").startswith(f"--[[\n{name}.lua - ")


@for_each(script_names())
def test_keys_are_those_of_the_header(name: str) -> None:
    check_numbers(read(name), "KEYS")


@for_each(script_names())
def test_arguments_are_those_of_the_header(name: str) -> None:
    check_numbers(read(name), "ARGV")


def check_numbers(source: Source, section: str) -> None:
    """The numbers that a script uses are those that its header lists."""
    listed, variadic = source.numbered(section)
    used = {int(number) for number in re.findall(rf"\b{section}\[(\d+)\]", source.code)}
    assert {number for number in used - listed if variadic is None or number < variadic} == set()
    assert {number for number in listed - used if variadic is None or number < variadic} == set(), "listed, not used"
    if re.search(rf"#{section}\b|\b{section}\[[^\d]|unpack\({section}", source.code):
        assert variadic is not None, "used by position, and the header lists no sequence"


@for_each([*script_names(), *(f"prelude/{piece}" for piece in PIECES)])
def test_no_key_is_made_up(name: str) -> None:
    """Keys come from KEYS, or are a declared base with a suffix: Redis Cluster finds the node by KEYS."""
    listed = re.findall(r"(?:^\s+|, )(\d+) +(\w+)(?: +(\w+))?", read(name).sections.get("KEYS", ""), re.MULTILINE)
    bases = {number for number, key, kind in listed if kind == "base" or key.endswith("_base")}
    code = read(name).code
    for command, key in re.findall(r'redis\.p?call\(\s*"(\w+)"\s*,\s*([^,()]+?)\s*[,)]', code):
        if command == "TIME":
            continue
        assert not re.match(r'["\'\d]', key), f"{command} {key}"
        base = re.match(r"KEYS\[(\d+)\]\s*\.\.", key)
        assert base is None or base[1] in bases, f"{command} {key}: not a base"
        assert ".." not in key or base or re.match(r"\w*_base \.\.", key), f"{command} {key}"


@for_each(script_names())
def test_commands_are_known(name: str) -> None:
    """So a command that writes cannot be taken for one that reads."""
    assert commands(reached_code(name)) <= WRITES | READS
    assert "redis.pcall" not in reached_code(name)


@pytest.mark.invariant(2)
@for_each(script_names())
def test_scripts_look_their_caller_up_before_they_write(name: str) -> None:
    code = reached_code(name)
    if not commands(code) & WRITES:
        assert name not in UNFENCED
        return
    fence = re.search("|".join(FENCES), read(name).code)
    assert bool(fence) != (name in UNFENCED)
    if fence:
        before = read(name).code[: fence.start()]
        before = re.sub(r"^local function .*?^end", "", before, flags=re.DOTALL | re.MULTILINE)
        assert not commands(before) & WRITES, "it writes before it looks"


def test_reasons_for_writing_unfenced_are_for_scripts_that_exist() -> None:
    assert set(UNFENCED) <= set(script_names())
    assert {name for name, _ in UNBOUNDED} <= set(script_names())


@for_each(script_names())
def test_reasons_are_those_of_the_header(name: str) -> None:
    text = read(name).sections["REASONS"]
    told = dict(re.findall(r"\b(\d{4}) ([A-Z][A-Z0-9_]+)\b", text))
    assert {number: MQRC[reason].value for number, reason in told.items()} == {n: int(n) for n in told}
    # A value in a reply's list is a reason too. A value that a fence compares with is not.
    returned = set(re.findall(r"\bMQRC\.([A-Z0-9_]+)", reached_code(name)))
    assert returned == set(told.values())


@for_each([*script_names(), *(f"prelude/{piece}" for piece in PIECES)])
def test_pieces_of_the_prelude_are_used_and_named(name: str) -> None:
    source = read(name)
    assert set(source.uses) <= set(PIECES)
    own = set(re.findall(r"\blocal (?:function )?([\w, ]+?)(?:\(| =|\n)", source.code))
    own_names = {part.strip() for group in own for part in group.split(",")}
    for piece in source.uses:
        known = {defined for part in with_their_own((piece,)) for defined in defined_by(part)}
        assert any(re.search(rf"\b{defined}\b", source.code) for defined in known), f"{piece} is not used"
    reachable = with_their_own(source.uses)
    for piece in PIECES:
        for function in functions_of(piece):
            if piece not in reachable and f"prelude/{piece}" != name and function not in own_names:
                missing = re.search(rf"(?<![.\w]){function}\(", source.code)
                providers = [other for other in reachable if function in defined_by(other)]
                assert not missing or providers, f"{function} is of {piece}"


def uses_of_pasted_text() -> list[str]:
    """Names of what is pasted, each as often as it is used, by the scripts and by what is pasted itself."""
    names = "|".join(name for known in definitions() for name in known)
    shared = (LUA / "pasted.lua").read_text("utf-8")
    calls = re.findall(rf"(?<!function )(?<!local )\b({names})\b(?=\(| )", re.sub(r"--.*", "", shared))
    sources = [path.read_text("utf-8") for path in LUA.glob("*/*.lua")]
    return calls + [name for text in sources for name in re.findall(r"\b(?:CONST|INLINE)\.(\w+)", text)]


def test_pasted_text_is_used_at_least_twice() -> None:
    used = uses_of_pasted_text()
    assert [name for known in definitions() for name in known if used.count(name) < 2] == []


@for_each(definitions()[1])
def test_no_argument_has_the_name_of_a_local_of_what_is_pasted(name: str) -> None:
    """The pasted local would hide the script's own variable."""
    own = set(re.findall(r"\b(?:local|for) (\w+)", definitions()[1][name].text))
    for path in LUA.glob("*/*.lua"):
        for arguments in re.findall(rf"\bINLINE\.{name}\(([^\n]*)", path.read_text("utf-8")):
            assert not own & set(re.findall(r"\w+", arguments)), f"{path.name}: {arguments}"


def test_an_unknown_name_or_a_wrong_number_of_arguments_is_refused() -> None:
    for code in ("CONST.SHORT", "INLINE.nothing()", "INLINE.depth(KEYS[1])", "INLINE.gets_in(one, two)"):
        with pytest.raises(KeyError):
            pasted("made_up", code)


def test_an_argument_keeps_its_own_order_of_operations() -> None:
    assert pasted("made_up", "INLINE.depth(a, b, c or d, e)").endswith("+ (b or 0) + ((c or d) or 0) + (e or 0))")


def test_every_piece_of_the_prelude_is_used() -> None:
    assert set(PIECES) == set().union(*(with_their_own(read(name).uses) for name in script_names()))


@pytest.mark.invariant(4)
@for_each(script_names())
def test_no_work_without_a_limit(name: str) -> None:
    found = {call.split('"')[1] for call in calls(reached_code(name)) if is_unbounded(call)}
    assert {(name, command) for command in found} == {known for known in UNBOUNDED if known[0] == name}


@cache
def product_code() -> str:
    """All Python of the product."""
    packages = ("sharedq", "recovery", "igq")
    return "".join(path.read_text("utf-8") for package in packages for path in (ROOT / package).rglob("*.py"))


@for_each(script_names())
def test_it_is_loaded_whole_and_called(name: str) -> None:
    script = load_script(name)
    assert not re.search(r"\b(MQRC|CONST|INLINE)\.", script.source)
    assert ("flags=allow-oom" in script.source) != ("MEMORY" in read(name).sections)
    code = product_code()
    folder, _, stem = name.partition("/")
    assert f'"{name}"' in code or (stem in ("commit", "backout") and f'f"{folder}/{{how}}"' in code)
