"""Options that are given empty: a script with a variable that is not set must not mean every message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from igq.cli import main
from igq.cli.app import build_app
from igq.pipeline.__main__ import main as pipeline
from igq.pipeline.cli.app import build_app as build_pipeline_app

pytestmark = pytest.mark.share


def options(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The commands' words and each of their options that takes a value."""
    for name, each in getattr(command, "commands", {}).items():
        yield from options(each, (*path, name))
    for option in command.params:
        if option.param_type_name == "option" and not option.is_flag and not option.count:
            yield path, option.opts[-1]


def test_an_option_that_is_given_empty_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for app, run in ((build_app(), main), (build_pipeline_app(), pipeline)):
        found = list(options(get_command(app)))
        assert len(found) > 20
        for path, option in found:
            status = run([*path, option, ""])
            if (status, "it is empty; give a value" in capsys.readouterr().err) != (2, True):
                wrong.append((*path, option))
    assert wrong == []
    assert main(["get", "QM1", "Q", "--correl-id="]) == 2
