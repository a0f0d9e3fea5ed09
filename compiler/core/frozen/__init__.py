"""
Frozen dataclasses whose methods are made when they are first used.

    @frozen
    class Tile:
        rows: int
        cols: int = 1

is what `@dataclass(frozen=True)` makes of it, for `fields`, `replace`, `match`, pickles and type checkers, too. That
writes and compiles six methods for each class when its module is imported, which was a fifth of npuc's start-up; of
most classes a command makes no object. Here `__init__`, `__repr__`, `__eq__` and `__hash__` are written, by `dataclass`
itself, when one of them is first looked up. A class that has a dataclass among its bases is made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

ClassT = TypeVar("ClassT")
FIELDS, PARAMS = "__dataclass_fields__", "__dataclass_params__"
COMPARED = ("__eq__", "__hash__")


@overload
def frozen(cls: type[ClassT], /) -> type[ClassT]: ...


@overload
def frozen(*, eq: bool) -> Callable[[type[ClassT]], type[ClassT]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[ClassT] | None = None, /, *, eq: bool = True) -> Any:
    """`dataclass(frozen=True, eq=eq)`, which makes methods at their first use."""

    def decorate(cls: type[Any]) -> type[Any]:
        return _frozen(cls, eq=eq)

    return decorate if cls is None else decorate(cls)


def _frozen(cls: type[Any], *, eq: bool) -> type[Any]:
    if any(FIELDS in base.__dict__ for base in cls.__mro__):
        return dataclass(frozen=True, eq=eq)(cls)
    own = {name for name, value in cls.__dict__.items() if value is not None}
    cls.__doc__ = cls.__doc__ or cls.__qualname__  # `dataclass` would write the signature, and so make `__init__`
    dataclass(init=False, repr=False, eq=False)(cls)
    params = getattr(cls, PARAMS)
    params.init, params.repr, params.eq, params.frozen = True, True, eq, True
    for name in ("__init__", "__repr__", *(COMPARED if eq else ())):
        if name not in own:
            setattr(cls, name, _Unmade(cls, name))
    _guard(cls)
    return cls


class _Unmade:
    """A method that is made when it is looked up."""

    def __init__(self, cls: type[Any], name: str):
        self.cls, self.name = cls, name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        unmade = self.cls.__dict__[self.name]
        if unmade is self:
            unmade = _written(self.cls, self.name)
            setattr(self.cls, self.name, unmade)
        return unmade.__get__(instance, owner)


def _written(cls: type[Any], name: str) -> Any:
    """The method that `dataclass` writes for the fields of a class."""
    body: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    body |= {"__annotations__": cls.__annotations__, **getattr(cls, FIELDS)}
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__  # __init__ calls that of the object
    init = name == "__init__"
    compared = name in COMPARED
    made = dataclass(init=init, repr=name == "__repr__", eq=compared, unsafe_hash=compared, frozen=init)
    return made(type(cls.__name__, (), body)).__dict__[name]


def _guard(cls: type[Any]) -> None:
    """Refuse that fields are set or deleted, as `dataclass` does."""

    def refuses(self: object, name: str) -> bool:
        return type(self) is cls or name in getattr(cls, FIELDS)

    def __setattr__(self: object, name: str, value: object) -> None:
        if refuses(self, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if refuses(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    setattr(cls, "__setattr__", __setattr__)
    setattr(cls, "__delattr__", __delattr__)
