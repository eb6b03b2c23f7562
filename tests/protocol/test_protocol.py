"""The model of leases, fences, decisions and tags keeps every invariant; each broken variant is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generator.invariants import INVARIANTS
from sharedq.redis.script_source import script_names
from tests.protocol.explorer import Exploration, Explored, Properties
from tests.protocol.in_doubt import InDoubtProtocol
from tests.protocol.properties import PROPERTIES
from tests.protocol.protocol import Protocol
from tests.protocol.variants import VARIANTS, Variant
from tests.protocol.world import ENDED, LARGE, LATE, PREPARED, Rules, Scenario, World
from tests.support.each import one_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "model.md").read_text("utf-8")
NAMES = [*PROPERTIES.of_states, *PROPERTIES.of_steps]


def explored(scenario: Scenario, rules: Rules, properties: Properties[World]) -> Explored:
    protocol = InDoubtProtocol(scenario, rules) if scenario.in_doubt else Protocol(scenario, rules)
    return Exploration(protocol.start(), protocol.steps, properties).run()


def only(name: str) -> Properties[World]:
    """One property alone: other violations of a variant must not hide whether this property notices it."""
    return Properties(
        of_states={each: complain for each, complain in PROPERTIES.of_states.items() if each == name},
        of_steps={each: complain for each, complain in PROPERTIES.of_steps.items() if each == name},
        is_at_rest=PROPERTIES.is_at_rest if name == "rest" else lambda _: True,
    )


# In the second one the structure Y may be there from the beginning, too.
@pytest.mark.invariant(1, 2, 3, 4, 5, 6, 7, 8, 9)
@pytest.mark.parametrize("scenario", [LARGE, LATE, PREPARED, ENDED], ids=lambda scenario: scenario.name)
def test_every_invariant_holds_in_every_state(scenario: Scenario) -> None:
    found = explored(scenario, Rules(), PROPERTIES)
    assert found.violation is None
    assert f"| {scenario.name} | {found.states:,} | {found.steps:,} | {found.depth} |" in PAGE
    scripts = {done.partition(":")[0] for done in found.done if "/" in done}
    assert scripts <= set(script_names())
    assert [script for script in scripts if f"`{script}`" not in PAGE] == []


@pytest.mark.parametrize(
    "variant",
    one_of(6, VARIANTS, pytest.mark.share),
    ids=lambda variant: f"{variant.name}: {variant.breaks}",
)
def test_a_broken_variant_is_caught(variant: Variant) -> None:
    found = explored(variant.scenario, variant.rules, only(variant.breaks))
    assert found.violation is not None
    assert found.violation.name == variant.breaks
    assert variant.name in PAGE


def test_the_invariants_are_those_of_the_guarantees() -> None:
    assert sorted(NAMES) == [f"{number}. {title}" for number, title in INVARIANTS.items()]


def test_every_property_has_a_variant_that_breaks_it() -> None:
    assert {variant.breaks for variant in VARIANTS} == {*NAMES, "rest"}
