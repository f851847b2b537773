from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict
from uuid import UUID

import pytest

from ramet import convert

Address = NewType("Address", str)


class Color(Enum):
    RED = "red"


class Point(TypedDict):
    x: int
    y: int


class Named(Point, total=False):
    name: str


@dataclass
class Tree:
    name: str
    below: list[Tree] = field(default_factory=list)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 7),
        (str, "x"),
        (bool, True),
        (None, None),
        (Any, {"a": [1]}),
        (list[int], [1, 2]),
        (Sequence[int], [1, 2]),
        (tuple[int, str], (1, "x")),
        (tuple[int, ...], (1, 2, 3)),
        (set[str], {"a"}),
        (frozenset[str], frozenset("a")),
        (dict[str, list[int]], {"a": [1]}),
        (Mapping[str, int], {"a": 1}),
        (Optional[int], None),  # noqa: UP045 - both spellings
        (int | str, "x"),
        (Literal["a", 1], 1),
        (Annotated[int, "m"], 3),
        (Address, "a@b"),
        (Color, Color.RED),
        (datetime, datetime(2026, 1, 31, 12, tzinfo=timezone.utc)),
        (date, date(2026, 1, 31)),
        (timedelta, timedelta(seconds=90)),
        (Decimal, Decimal("1.50")),
        (UUID, UUID(int=7)),
        (Path, Path("/a/b")),
        (Point, {"x": 1, "y": 2}),
        (Named, {"x": 1, "y": 2, "name": "n"}),
        (Tree, Tree("a", [Tree("b")])),
        (dict[str, Tree], {"t": Tree("a")}),
    ],
)
def test_a_value_comes_back_as_it_was(annotation: Any, value: Any) -> None:
    got = convert.reader(annotation)(json.loads(convert.dumps(value)))
    assert got == value
    assert type(got) is type(value)


def test_a_whole_number_is_a_float_where_one_is_wanted() -> None:
    got = convert.reader(float)(3)
    assert (got, type(got)) == (3.0, float)


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (int, "7", "want a whole number, got '7'"),
        (int, True, "want a whole number, got True"),
        (str, None, "want a text, got None"),
        (list[int], [1, "x"], r"\[1\]: want a whole number"),
        (Point, {"x": 1}, "y is missing"),
        (Tree, {"name": "a", "below": [{"name": 1}]}, r"below: \[0\]: name: want a text"),
        (Color, "blue", "want one of 'red'"),
        (Literal["a"], "b", "want one of 'a'"),
        (datetime, "soon", "want a time"),
        (tuple[int, int], [1], "want a list of 2"),
    ],
)
def test_what_does_not_fit_is_named_with_the_way_to_it(annotation: Any, value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        convert.reader(annotation)(value)


def test_an_annotation_that_json_cannot_carry_is_refused_when_the_program_starts() -> None:
    def f(x: complex) -> None: ...

    with pytest.raises(TypeError, match="f, parameter x: complex cannot be read from JSON"):
        convert.Signature(f).resolve()


def test_arguments_without_names_are_refused() -> None:
    def f(*x: int) -> None: ...

    with pytest.raises(TypeError, match="has no names"):
        convert.Signature(f)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, None),
        ("plain", {"value": "plain"}),
        (7, {"value": "7"}),
        ([1, "a"], {"value": '[1,"a"]'}),
        ({}, {}),
        ({"a": "t", "b": 1, "c": {"d": None}, "e": None}, {"a": "t", "b": "1", "c": '{"d":null}', "e": "null"}),
        (Tree("a"), {"name": "a", "below": "[]"}),
    ],
)
def test_a_result_is_what_other_workers_make_of_it(value: Any, result: dict[str, str] | None) -> None:
    assert convert.result_of(value) == result


def test_arguments_by_place_name_and_default() -> None:
    def f(a: int, /, b: str = "x", *, c: date | None = None, **rest: int) -> None: ...

    s = convert.Signature(f)
    assert json.loads(s.write((1,), {"c": date(2026, 1, 1), "z": 3})) == {"a": 1, "c": "2026-01-01", "z": 3}
    assert s.read('{"a":1,"c":"2026-01-01","z":3}') == ((1,), {"c": date(2026, 1, 1), "z": 3})
    with pytest.raises(ValueError, match="a is missing"):
        s.read("{}")
    with pytest.raises(ValueError, match="z: want a whole number"):
        s.read('{"a":1,"z":"x"}')


def test_a_single_dataclass_is_the_object_itself() -> None:
    def f(tree: Tree) -> None: ...

    s = convert.Signature(f)
    assert json.loads(s.write((Tree("a"),), {})) == {"name": "a", "below": []}
    assert s.read('{"name":"a","of_a_newer_version":1}') == ((Tree("a"),), {})


def test_an_argument_that_nobody_knows_is_refused() -> None:
    def f(a: int) -> None: ...

    with pytest.raises(ValueError, match="f has no parameter b"):
        convert.Signature(f).read('{"a":1,"b":2}')
