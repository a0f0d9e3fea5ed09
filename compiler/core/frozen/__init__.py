"""
Frozen dataclasses whose methods are made when they are first used.

    @frozen
    class Tile:
        rows: int
        cols: int = 1

is what `@dataclass(frozen=True)` makes of it, for `fields`, `replace`, `match`, pickles and type checkers, too. That
writes and compiles six methods for each class when its module is imported, which was a fifth of npuc's start-up; of
most classes a command makes no object. Here `__init__`, `__repr__`, `__eq__` and `__hash__` are written when they are
first looked up, all but the first by `dataclass` itself. A class that has a dataclass among its bases is made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
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
    if name == "__init__":
        return _init(cls)
    body: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    body |= {"__annotations__": cls.__annotations__, **getattr(cls, FIELDS)}
    compared = name in COMPARED
    made = dataclass(init=False, repr=name == "__repr__", eq=compared, unsafe_hash=compared)
    return made(type(cls.__name__, (), body)).__dict__[name]


class _Made:
    """The default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


MADE = _Made()


def _init(cls: type[Any]) -> Any:
    """
    The `__init__` of a class: written here, as `dataclass` would write two more methods for one of a frozen class.

    Fields may be whatever `field` says of them; `InitVar` is not known.
    """
    scope: dict[str, Any] = {"__name__": cls.__module__, "__set__": object.__setattr__, "__made__": MADE}
    given, named, lines = ["self"], list[str](), list[str]()
    for one in fields(cls):
        name, default, value = one.name, "", one.name if one.init else None
        if one.default_factory is not MISSING:
            scope[f"__{name}__"] = one.default_factory
            default = "=__made__"
            value = f"__{name}__() if {name} is __made__ else {name}" if one.init else f"__{name}__()"
        elif one.default is not MISSING:
            scope[f"__{name}__"] = one.default
            default = f"=__{name}__"
        if one.init:
            (named if one.kw_only else given).append(name + default)
        if value is not None:
            lines.append(f"__set__(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [*given, "*", *named] if named else given
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), scope)
    written = scope["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    written.__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    return written


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
