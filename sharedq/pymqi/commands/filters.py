"""Filters of PCF commands: ``Filter(CMQC.MQCA_Q_NAME).like(b"A*")``."""

from __future__ import annotations

from typing import ClassVar

from sharedq.pymqi import CMQC, CMQCFC
from sharedq.pymqi.boundary import checked
from sharedq.pymqi.errors import Error
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.structures.pcf import CFIF, CFSF
from sharedq.pymqi.text import ensure_bytes, ensure_not_unicode


@checked
class AttributeFilter:
    """A filter by one attribute.

    Args:
        selector: MQIA_* or MQCA_*, or one of PCF's own.
        operator: MQCFOP_*.
    """

    def __init__(self, selector: int, value: bytes | str | int, operator: int) -> None:
        self.selector = selector
        self.value = ensure_bytes(value)
        self.operator = operator

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.selector}:{self.value!r}:{self.operator}>"

    def structure(self) -> MQOpts:
        """The parameter of a command that it becomes."""
        raise NotImplementedError


class StringFilter(AttributeFilter):
    """A filter by a string."""

    def structure(self) -> MQOpts:
        """An MQCFSF."""
        return CFSF(Parameter=self.selector, Operator=self.operator, FilterValue=self.value)


class IntegerFilter(AttributeFilter):
    """A filter by an integer."""

    def structure(self) -> MQOpts:
        """An MQCFIF."""
        return CFIF(Parameter=self.selector, Operator=self.operator, FilterValue=self.value)


@checked
class FilterOperator:
    """A filter that still lacks its value: called with that, it returns the filter.

    Raises:
        Error: the selector is neither of an integer nor of a string, or there is no such operator.
    """

    operator_mapping: ClassVar[dict[str, int]] = {
        name.removeprefix("MQCFOP_").lower(): value
        for name, value in vars(CMQCFC).items()
        if name.startswith("MQCFOP_")
    }

    def __init__(self, selector: int, operator_name: str) -> None:
        self.filter_cls: type[AttributeFilter]
        if CMQC.MQIA_FIRST <= selector <= CMQC.MQIA_LAST:
            self.filter_cls = IntegerFilter
        elif CMQC.MQCA_FIRST <= selector <= CMQC.MQCA_LAST:
            self.filter_cls = StringFilter
        else:
            raise Error(f"selector {selector} is neither that of an integer nor that of a string")
        if operator_name not in self.operator_mapping:
            raise Error(f"there is no operator {operator_name}")
        self.selector, self.operator = selector, self.operator_mapping[operator_name]

    def __call__(self, value: bytes | int) -> AttributeFilter:
        ensure_not_unicode(value)
        return self.filter_cls(self.selector, value, self.operator)


@checked
class Filter:
    """The attribute to filter by; its methods are the operators: ``equal``, ``less``, ``like``, ``contains_gen`` ..."""

    def __init__(self, selector: int) -> None:
        self.selector = selector

    def __getattr__(self, name: str) -> FilterOperator:
        # Copying and pickling ask for such names before there is a selector.
        if name.startswith("__"):
            raise AttributeError(name)
        return FilterOperator(self.selector, name)
