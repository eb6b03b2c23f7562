"""Options that several commands have: a dataclass stands for them in a signature, a field for each option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

_Result = TypeVar("_Result")


def with_options(**defaults: object) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Show typer the fields of each dataclass that a command takes as options, in their order.

    A field of which the command has a parameter of the same name is not shown twice: the dataclass gets its value too.

    Args:
        defaults: of options, where this command has another default than the dataclass.
    """

    def decorate(command: Callable[..., _Result]) -> Callable[..., _Result]:
        signature = inspect.signature(command, eval_str=True)
        groups: dict[str, Any] = {
            name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
        }
        shown: dict[str, inspect.Parameter] = {}
        for name, parameter in signature.parameters.items():
            if name not in groups:
                shown[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                continue
            types = get_type_hints(groups[name], include_extras=True)
            for field in fields(groups[name]):
                if field.name not in signature.parameters:
                    default = defaults.get(field.name, field.default)
                    shown[field.name] = inspect.Parameter(
                        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[field.name]
                    )

        @wraps(command)
        def called(**given: Any) -> _Result:
            own = {name: value for name, value in given.items() if name in signature.parameters}
            for name, group in groups.items():
                own[name] = group(**{field.name: given[field.name] for field in fields(group)})
            return command(**own)

        called.__dict__["__signature__"] = signature.replace(parameters=list(shown.values()))
        called.__annotations__ = {name: each.annotation for name, each in shown.items()}
        return called

    return decorate
