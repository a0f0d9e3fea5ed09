"""Frozen classes with methods made at their first use: the same as those of `dataclass`, whatever is asked first."""

import inspect
import pickle
from collections.abc import Callable, Hashable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from npuc.compiler.core.frozen import frozen

T = TypeVar("T")


@frozen
class Tile:
    """A tile."""

    rows: int
    cols: int = 1
    names: tuple[str, ...] = field(default=(), compare=False)
    made: list[int] = field(default_factory=list[int], hash=False, repr=False)
    size: int = field(init=False)
    LARGEST: ClassVar[int] = 9

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.rows * self.cols)

    @cached_property
    def half(self) -> float:
        """Half of its size."""
        return self.size / 2


@dataclass(frozen=True)
class Named(Tile):
    name: str = "n"


@frozen
class Later(Tile):
    name: str = "n"


@frozen(eq=False)
class Same:
    value: int


@frozen
class Own:
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.value % 2 == other.value % 2

    def __repr__(self) -> str:
        return "own"


@frozen
class Of(Generic[T]):
    value: T


class Plain(Tile):
    """A class of its own kind."""


def of_dataclass() -> type[Any]:
    @dataclass(frozen=True)
    class Pair:
        left: int
        right: str = "r"
        many: list[int] = field(default_factory=list[int], hash=False)
        own: list[int] = field(default_factory=list[int], hash=False, init=False)
        named: int = field(default=3, kw_only=True)
        needed: int = field(kw_only=True, default=4, repr=False)
        fixed: int = field(default=5, init=False)

    return Pair


def lazily() -> type[Any]:
    @frozen
    class Pair:
        left: int
        right: str = "r"
        many: list[int] = field(default_factory=list[int], hash=False)
        own: list[int] = field(default_factory=list[int], hash=False, init=False)
        named: int = field(default=3, kw_only=True)
        needed: int = field(kw_only=True, default=4, repr=False)
        fixed: int = field(default=5, init=False)

    return Pair


def missing(cls: type[Any]) -> str:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'left'") as caught:
        cls()
    return str(caught.value).rpartition(".")[2]


def shown(cls: type[Any]) -> str:
    return repr(cls(1)).rpartition(".")[2]


def equal(cls: type[Any]) -> tuple[bool, ...]:
    return cls(1) == cls(1), cls(1) == cls(2), cls(1) == 1, cls(1) != cls(1)


ASKED: dict[str, Callable[[type[Any]], Any]] = {
    "made": lambda cls: asdict(cls(1, right="x")),
    "filled": lambda cls: asdict(cls(1, "x", [2], named=5, needed=6)),
    "fresh": lambda cls: cls(1).many is not cls(1).many,
    "missing": missing,
    "shown": shown,
    "equal": equal,
    "hashed": lambda cls: (
        hash(cls(1, "a")) == hash((1, "a", 3, 4, 5)),
        len({cls(1), cls(1), cls(2)}),
        issubclass(cls, Hashable),
    ),
    "signature": lambda cls: str(inspect.signature(cls)),
    "replaced": lambda cls: asdict(replace(cls(1), left=2)),
    "fields": lambda cls: [(f.name, f.type, repr(f.default)) for f in fields(cls) if is_dataclass(cls)],
    "matched": lambda cls: cls.__match_args__,
    "name": lambda cls: (cls.__init__.__qualname__.rpartition(">.")[2], cls.__init__.__module__),
    "params": lambda cls: (cls.__dataclass_params__.frozen, cls.__dataclass_params__.eq),
}


@pytest.mark.parametrize("first", ASKED)
def test_it_is_what_dataclass_makes(first: str) -> None:
    ours, theirs = lazily(), of_dataclass()
    for name in (first, *ASKED):
        one, other = ASKED[name](ours), ASKED[name](theirs)
        assert str(one) == str(other), name


@pytest.mark.parametrize("order", list(permutations((Tile, Named, Later, Plain), 2)))
def test_fields_and_methods_are_inherited(order: tuple[type[Tile], type[Tile]]) -> None:
    for cls in order:
        found = cls(2, 3)
        assert (found.size, found.half, found.made, cls.LARGEST) == (6, 3.0, [], 9)
        assert found == cls(2, 3, ("other",))
        assert hash(found) == hash(cls(2, 3, made=[1]))
    assert Named(1, name="a") != Named(1, name="b")
    assert Later(1, name="a") != Later(1, name="b")
    assert Tile(1) != Later(1)
    assert repr(Tile(1, 2)) == "Tile(rows=1, cols=2, names=(), size=2)"


@pytest.mark.parametrize("found", [Tile(1), Same(1), Own(1), Later(1)])
def test_nothing_is_set_or_deleted(found: Any) -> None:
    name = fields(found)[0].name
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(found, name, 2)
    with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
        delattr(found, name)
    with pytest.raises(FrozenInstanceError):
        found.other = 2


def test_a_class_that_inherits_without_a_decorator_may_have_more() -> None:
    found: Any = Plain(1)
    found.other = 2
    with pytest.raises(FrozenInstanceError):
        found.rows = 2


def test_what_a_class_defines_stays() -> None:
    assert Own(1) == Own(3)
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == hash((1,))
    one = Same(1)
    assert one == one
    assert one != Same(1)
    assert len({one, Same(1)}) == 2
    assert Of("x") == Of("x")
    assert Of[int](1).value == 1


def test_pickles_keep_what_they_are() -> None:
    assert pickle.loads(pickle.dumps(Tile(2, 3))) == Tile(2, 3)


def test_methods_are_made_when_they_are_used() -> None:
    cls = lazily()
    assert not inspect.isfunction(cls.__dict__["__init__"])
    found = cls(1)
    assert inspect.isfunction(cls.__dict__["__init__"])
    assert not inspect.isfunction(cls.__dict__["__eq__"])
    assert found == cls(1)
    assert inspect.isfunction(cls.__dict__["__eq__"])
