"""Many cases: in one test, where one for each would cost more than the work in it, or in part in the share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def one_of(count: int, cases: Iterable[Any], mark: pytest.MarkDecorator) -> list[Any]:
    """Cases for `pytest.mark.parametrize`, of which the first of each *count* has the mark."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=[] if at % count else mark)
        for at, case in enumerate(cases)
    ]


def for_each(names: Iterable[str]) -> Callable[[Callable[[str], None]], Callable[[], None]]:
    """Run the decorated test with each of *names*, and show each name for which the test fails."""
    all_names = tuple(names)

    def decorate(test: Callable[[str], None]) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for name in all_names:
                try:
                    test(name)
                except (AssertionError, pytest.fail.Exception) as failure:
                    failures.append(f"{name}: {failure}")
            if failures or not all_names:
                pytest.fail("\n".join(failures) or "there is no name", pytrace=False)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate
