"""Deliberately broken variants of the protocol, at least one for each invariant, and the property that each breaks."""

from __future__ import annotations

from dataclasses import dataclass

from tests.protocol.world import ENDED, LARGE, LATE, PREPARED, SPANNING, Rules, Scenario


@dataclass(frozen=True, slots=True)
class Variant:
    """The protocol with *rules*; ``breaks`` names the property that must be found violated in *scenario*."""

    name: str
    breaks: str
    scenario: Scenario
    rules: Rules


VARIANTS = (
    Variant(
        "an effect and its record are two scripts",
        "1. One state, one script",
        SPANNING,
        Rules(effect_and_record_change_together=False),
    ),
    Variant("scripts do not look their caller up", "2. Fencing", SPANNING, Rules(scripts_look_their_caller_up=False)),
    Variant(
        "entering a structure is not checked again",
        "2. Fencing",
        LATE,
        Rules(entering_is_checked_again=False),
    ),
    Variant(
        "a structure is not marked, and entering it not checked again",
        "2. Fencing",
        SPANNING,
        Rules(structures_are_marked=False, entering_is_checked_again=False),
    ),
    Variant(
        "entering a structure does not ask whether V is known",
        "2. Fencing",
        SPANNING,
        Rules(entering_asks_who_is_known=False),
    ),
    Variant(
        "a decision does not ask whether V is known", "2. Fencing", SPANNING, Rules(deciding_asks_who_is_known=False)
    ),
    Variant(
        "a preparation does not ask whether V is known", "2. Fencing", PREPARED, Rules(deciding_asks_who_is_known=False)
    ),
    Variant("the fences go while V is known", "2. Fencing", SPANNING, Rules(fences_go_last=False)),
    Variant(
        "the recoverer shuts V out of the administration structure last",
        "3. One decision",
        SPANNING,
        Rules(recoverer_shuts_out_before_it_looks=False),
    ),
    Variant("a structure applies before the decision", "3. One decision", SPANNING, Rules(decision_comes_first=False)),
    Variant(
        "a chunk does not say that the rest is decided",
        "3. One decision",
        LARGE,
        Rules(large_unit_remembers_its_decision=False),
    ),
    Variant("a unit of work ends in one call", "4. Bounded scripts", LARGE, Rules(work_is_done_in_chunks=False)),
    Variant(
        "a message that comes back goes to the end", "5. Position", SPANNING, Rules(backout_returns_to_the_place=False)
    ),
    Variant(
        "the claim frees the tag",
        "6. Sequence under failure",
        SPANNING,
        Rules(tag_waits_for_the_last_step=False),
    ),
    Variant("the recovery keeps the tag", "rest", LARGE, Rules(recovery_frees_the_tag=False)),
    Variant(
        "success is reported before the decision",
        "7. Acknowledged means kept",
        SPANNING,
        Rules(success_is_told_last=False),
    ),
    Variant(
        "an effect and its record are two scripts", "8. Once", SPANNING, Rules(effect_and_record_change_together=False)
    ),
    Variant(
        "a recoverer does not leave what is in doubt",
        "3. One decision",
        PREPARED,
        Rules(recoverer_leaves_what_is_in_doubt=False),
    ),
    Variant(
        "a unit of work in doubt ends without a decision",
        "3. One decision",
        ENDED,
        Rules(end_of_doubt_is_decided_first=False),
    ),
    Variant(
        "the coordinator is shut out when its recoverer has looked",
        "2. Fencing",
        ENDED,
        Rules(coordinator_is_shut_out_first=False),
    ),
    Variant(
        "the recovery frees the tag of what is in doubt",
        "6. Sequence under failure",
        PREPARED,
        Rules(tag_waits_for_what_is_in_doubt=False),
    ),
    Variant(
        "no recoverer completes what a dead coordinator decided",
        "rest",
        ENDED,
        Rules(end_of_doubt_outlives_who_decided=False),
    ),
    Variant("a lost reply is reported as a failure", "9. Three outcomes", SPANNING, Rules(lost_reply_is_unknown=False)),
    Variant(
        "a call whose reply is lost is sent again", "9. Three outcomes", SPANNING, Rules(calls_are_sent_once=False)
    ),
)
