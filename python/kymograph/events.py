"""Events that programs declare.

>>> Score = define_event("myapp.Score", score=float, label=(str, "unknown"))
>>> Score(score=0.9)
myapp.Score(score=0.9, label='unknown')

A name needs a namespace, so that events of different programs are not taken for each other; a
field must not be called as one that every event has.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from . import _core

#: What a field is unless it is given.
_DEFAULTS: Mapping[type, Any] = {float: 0.0, int: 0, str: "", bool: False}


class EventValue:
    """An event of a declared kind, for :meth:`Session.emit`."""

    __slots__ = ("name", "fields")

    def __init__(self, name: str, fields: Dict[str, Any]) -> None:
        self.name = name
        self.fields = fields

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in self.fields.items())
        return f"{self.name}({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EventValue):
            return NotImplemented
        return (self.name, self.fields) == (other.name, other.fields)

    __hash__ = None  # type: ignore[assignment]


class EventKind:
    """A declared kind of event; calling it makes one."""

    __slots__ = ("name", "_types", "_defaults")

    def __init__(self, name: str, types: Dict[str, Any], defaults: Dict[str, Any]) -> None:
        self.name = name
        self._types = types
        self._defaults = defaults

    @property
    def fields(self) -> Dict[str, Any]:
        """Its fields and their defaults."""
        return dict(self._defaults)

    def __call__(self, **fields: Any) -> EventValue:
        values = dict(self._defaults)
        for key, value in fields.items():
            if key not in values:
                known = ", ".join(values) or "none"
                raise TypeError(f"{self.name} has no field {key!r}: it has {known}")
            values[key] = self._checked(key, value)
        return EventValue(self.name, values)

    def _checked(self, key: str, value: Any) -> Any:
        kind = self._types[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        is_fitting = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        if value is not None and kind in _DEFAULTS and not is_fitting:
            given = type(value).__name__
            raise TypeError(f"{self.name}.{key} is a {kind.__name__}, not a {given}: {value!r}")
        return value

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{key}: {getattr(kind, '__name__', kind)}" for key, kind in self._types.items()
        )
        return f"<event {self.name}({fields})>"


def define_event(name: str, **fields: Any) -> EventKind:
    """Declares a kind of event.

    ``fields`` are types, or pairs of a type and a default: ``score=float``,
    ``label=(str, "unknown")``. Types are ``float``, ``int``, ``str`` and ``bool``; of any other,
    the default is ``None`` and values are written as their text.

    Raises ``ValueError`` for a name without a namespace and for a field that hides one that every
    event has.
    """
    types: Dict[str, Any] = {}
    defaults: Dict[str, Any] = {}
    for key, declared in fields.items():
        kind, default = declared if isinstance(declared, tuple) else (declared, ...)
        if not isinstance(kind, type):
            raise TypeError(f"the field {key!r} of {name} needs a type, not {kind!r}")
        types[key] = kind
        defaults[key] = _DEFAULTS.get(kind) if default is ... else default
    _core.check_event(name, list(fields))
    return EventKind(name, types, defaults)
