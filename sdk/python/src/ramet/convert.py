"""Python values as JSON and back, by the annotations of functions."""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union
from uuid import UUID

Read = Callable[[Any], Any]
"""Makes of a value from JSON one of a type; raises ValueError with the way to what is wrong."""


def dumps(value: Any) -> str:
    """Write a value as compact JSON. Raises TypeError or ValueError for what JSON does not have."""
    return json.dumps(value, default=_plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Make of a value something closer to JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (UUID, Decimal, Path)):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (AbstractSet, Sequence)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    if hasattr(value, "model_dump"):  # of pydantic, without needing it
        return value.model_dump(mode="json")
    msg = f"a value of type {type(value).__name__} cannot be written as JSON"
    raise TypeError(msg)


def result_of(value: Any) -> dict[str, str] | None:
    """Make of what a function returned the result of its job.

    The fields of an object, texts as they are and anything else as compact JSON; what is no object stands under
    "value", and None is no result.
    """
    if value is None:
        return None
    plain = json.loads(dumps(value))
    fields = plain if isinstance(plain, dict) else {"value": plain}
    return {name: field if isinstance(field, str) else dumps(field) for name, field in fields.items()}


def _wrong(want: str, value: Any) -> ValueError:
    shown = repr(value)
    return ValueError(f"want {want}, got {shown if len(shown) <= 60 else shown[:60] + '…'}")


def _within(where: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except ValueError as err:
        msg = f"{where}: {err}"
        raise ValueError(msg) from None


def _exact(want: str, *kinds: type) -> Read:
    def read(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise _wrong(want, value)
        return value

    return read


def _parsed(want: str, make: Callable[[str], Any]) -> Read:
    def read(value: Any) -> Any:
        try:
            return make(value)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            raise _wrong(want, value) from None

    return read


def _datetime(text: str) -> datetime:
    # Python 3.10 does not know Z.
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


_float = _exact("a number", int, float)
_list = _exact("a list", list)
_SIMPLE: dict[Any, Read] = {
    Any: lambda v: v,
    object: lambda v: v,
    inspect.Parameter.empty: lambda v: v,
    str: _exact("a text", str),
    bool: _exact("true or false", bool),
    int: _exact("a whole number", int),
    float: lambda v: float(_float(v)),
    None: _exact("null", type(None)),
    type(None): _exact("null", type(None)),
    dict: _exact("an object", dict),
    list: _list,
    tuple: lambda v: tuple(_list(v)),
    set: lambda v: set(_list(v)),
    datetime: _parsed("a time as 2026-01-31T12:00:00Z", _datetime),
    date: _parsed("a date as 2026-01-31", date.fromisoformat),
    time: _parsed("a time as 12:00:00", time.fromisoformat),
    timedelta: lambda v: timedelta(seconds=_float(v)),
    Decimal: _parsed("a number", lambda v: Decimal(str(v))),
    UUID: _parsed("a UUID", UUID),
    Path: _parsed("a path", Path),
}


def reader(t: Any) -> Read:
    """Make the function that reads values of an annotation. Raises TypeError for one that JSON cannot carry."""
    if isinstance(t, str):
        msg = f"the annotation {t!r} could not be resolved"
        raise TypeError(msg)
    try:
        if t in _SIMPLE:
            return _SIMPLE[t]
    except TypeError:  # not hashable: some Literal or Annotated
        pass
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        return reader(args[0])
    if origin is not None and getattr(origin, "__name__", "") in ("Required", "NotRequired", "ReadOnly"):
        return reader(args[0])
    if origin in (Union, types.UnionType):
        return _union([reader(a) for a in args], t)
    if origin is Literal:
        return _literal(args)
    if origin is not None:
        return _generic(t, origin, args)
    if isinstance(t, typing.TypeVar):
        return _SIMPLE[Any]
    if isinstance(t, type):
        return _class(t)
    if callable(t) and hasattr(t, "__supertype__"):  # NewType
        return reader(t.__supertype__)
    msg = f"{t!r} cannot be read from JSON"
    raise TypeError(msg)


def _union(reads: list[Read], t: Any) -> Read:
    def read(value: Any) -> Any:
        for one in reads:
            try:
                return one(value)
            except ValueError:
                continue
        raise _wrong(str(t), value)

    return read


def _literal(values: tuple[Any, ...]) -> Read:
    def read(value: Any) -> Any:
        for one in values:
            if one == value and type(one) is type(value):
                return one
        raise _wrong(f"one of {', '.join(map(repr, values))}", value)

    return read


def _generic(t: Any, origin: Any, args: tuple[Any, ...]) -> Read:
    if origin is tuple and not (len(args) == 2 and args[1] is ...):
        return _fixed([reader(a) for a in args])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = reader(args[0]), reader(args[1])
        return lambda v: {key(k): _within(str(k), item, x) for k, x in _SIMPLE[dict](v).items()}
    for kind, make in ((tuple, tuple), (AbstractSet, set), (Iterable, list)):
        if isinstance(origin, type) and issubclass(origin, kind):
            return _sequence(reader(args[0]), frozenset if origin is frozenset else make)
    if isinstance(origin, type):
        return _class(origin)
    msg = f"{t!r} cannot be read from JSON"
    raise TypeError(msg)


def _sequence(item: Read, make: Callable[[Iterable[Any]], Any]) -> Read:
    return lambda v: make(_within(f"[{i}]", item, x) for i, x in enumerate(_list(v)))


def _fixed(items: list[Read]) -> Read:
    def read(value: Any) -> Any:
        if len(_list(value)) != len(items):
            raise _wrong(f"a list of {len(items)}", value)
        return tuple(_within(f"[{i}]", item, x) for i, (item, x) in enumerate(zip(items, value, strict=True)))

    return read


def _class(t: type) -> Read:
    if typing.is_typeddict(t):
        return _typed_dict(t)
    if dataclasses.is_dataclass(t):
        return _dataclass(t)
    if issubclass(t, Enum):
        return _parsed(f"one of {', '.join(repr(m.value) for m in t)}", t)
    if hasattr(t, "model_validate"):  # of pydantic; its errors are ValueErrors
        return t.model_validate  # type: ignore[no-any-return]
    msg = f"{t.__qualname__} cannot be read from JSON; use a dataclass or a TypedDict"
    raise TypeError(msg)


class _Fields:
    """The fields of a class, whose readers are made when they are first needed: it may hold itself."""

    def __init__(self, t: type, needed: AbstractSet[str], known: AbstractSet[str]) -> None:
        self._type, self._needed, self._known = t, needed, known
        self._reads: dict[str, Read] | None = None

    def __call__(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong("an object", value)
        if self._reads is None:
            hints = typing.get_type_hints(self._type)
            self._reads = {name: reader(hints[name]) for name in self._known}
        for name in self._needed:
            if name not in value:
                msg = f"{name} is missing"
                raise ValueError(msg)
        # What is there besides is of a newer version of the program, and passed over.
        return {name: _within(name, read, value[name]) for name, read in self._reads.items() if name in value}


def _typed_dict(t: Any) -> Read:
    return _Fields(t, t.__required_keys__, t.__required_keys__ | t.__optional_keys__)


def _dataclass(t: Any) -> Read:
    missing = dataclasses.MISSING
    known = [f for f in dataclasses.fields(t) if f.init]
    needed = {f.name for f in known if f.default is missing and f.default_factory is missing}
    fields = _Fields(t, needed, {f.name for f in known})
    return lambda v: t(**fields(v))


class Signature:
    """How a function's arguments stand in a job: as an object of its parameters.

    A function of one dataclass or TypedDict has its fields there, without a name around them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.signature = inspect.signature(function)
        self._reads: dict[str, Read] | None = None
        self._whole = ""  # the parameter that is the object itself
        self._rest: Read | None = None  # of **kwargs
        for p in self.signature.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                msg = f"{function.__name__}: *{p.name} has no names, and arguments of jobs need them"
                raise TypeError(msg)

    def resolve(self) -> dict[str, Read]:
        """Make the readers, when first needed: annotations may name what stands further down in the module."""
        if self._reads is None:
            hints = typing.get_type_hints(self._function, include_extras=True)
            reads = {}
            for name, p in self.signature.parameters.items():
                hint = hints.get(name, p.annotation)
                try:
                    read = reader(hint)
                except TypeError as err:
                    msg = f"{self._function.__name__}, parameter {name}: {err}"
                    raise TypeError(msg) from None
                if p.kind is p.VAR_KEYWORD:
                    self._rest = read
                else:
                    reads[name] = read
            if len(self.signature.parameters) == 1 and len(reads) == 1:
                ((name, p),) = self.signature.parameters.items()
                hint = hints.get(name)
                if _is_object(hint):
                    self._whole = name
            self._reads = reads
        return self._reads

    def write(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Write the arguments of a call as the script of a job."""
        bound = self.signature.bind(*args, **kwargs)
        reads = self.resolve()
        if self._whole:
            return dumps(bound.arguments.get(self._whole, {}))
        named = {name: value for name, value in bound.arguments.items() if name in reads}
        for name in bound.arguments.keys() - reads.keys():  # of **kwargs
            named.update(bound.arguments[name])
        return dumps(named)

    def read(self, script: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Read the script of a job as the arguments of a call. Raises ValueError."""
        reads = self.resolve()
        try:
            value = json.loads(script) if script.strip() else {}
        except ValueError as err:
            msg = f"the arguments of the job cannot be read as JSON: {err}"
            raise ValueError(msg) from None
        if self._whole:
            return (_within("arguments", reads[self._whole], value),), {}
        if not isinstance(value, dict):
            raise _wrong("an object with the arguments by their names", value)
        kwargs = {}
        for name, item in value.items():
            read = reads.get(name) or self._rest
            if read is None:
                msg = f"{self._function.__name__} has no parameter {name}"
                raise ValueError(msg)
            kwargs[name] = _within(name, read, item)
        for name, p in self.signature.parameters.items():
            if name not in kwargs and name in reads and p.default is p.empty:
                msg = f"{name} is missing"
                raise ValueError(msg)
        args = []
        for name, p in self.signature.parameters.items():
            if p.kind is p.POSITIONAL_ONLY and name in kwargs:
                args.append(kwargs.pop(name))
        return tuple(args), kwargs


def _is_object(hint: Any) -> bool:
    hint = typing.get_origin(hint) if typing.get_origin(hint) not in (None, typing.Annotated) else hint
    return isinstance(hint, type) and (
        dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or hasattr(hint, "model_validate")
    )
