"""
Results of searches, kept from one process to the next.

    @lru_cache(maxsize=4096)
    @kept("schedules", Schedule, Loop)
    def search(nest: Nest, machine: Machine) -> Schedule: ...

    with keep_results():
        search(nest, machine)       # is read from the store, or runs and is kept there

A search is a pure function of frozen values. Its key are the function's name and all of its arguments, whole and with
their types, so that nothing can be left out; what it may return are instances of the classes that are named. A search
that raises, or that takes hardly longer than to read its result, is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from time import perf_counter
from typing import ParamSpec, TypeAlias, TypeVar, cast

from npuc.compiler.core.arguments import PATH, argument
from npuc.compiler.core.cache.folder import OPTION, Place, place
from npuc.compiler.core.cache.plain import packed, unpacked
from npuc.compiler.core.cache.store import Store, digest
from npuc.compiler.core.errors import UsageError

Given = ParamSpec("Given")
Found = TypeVar("Found")
WORTH_SECONDS = 0.002
"""What takes less is computed again: to read it from a cold file takes up to a tenth of that, to write it as much."""

_store: Store | None = None


def kept(kind: str, *classes: type) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """Keep what a function returns, as rows of a kind; `classes` are those of its results."""

    def decorate(function: Callable[Given, Found]) -> Callable[Given, Found]:
        name = f"{function.__module__}.{getattr(function, '__qualname__', '')}"

        @wraps(function)
        def search(*given: Given.args, **named: Given.kwargs) -> Found:
            store = _store
            if store is None or store.problem is not None:
                return function(*given, **named)
            try:
                key = digest(name.encode(), packed((given, tuple(sorted(named.items())))))
            except TypeError:
                return function(*given, **named)
            data = store.get(kind, key)
            if data is not None:
                try:
                    return cast(Found, unpacked(data, classes))
                except ValueError:
                    pass  # nothing that this code has written
            begin = perf_counter()
            found = function(*given, **named)
            if perf_counter() - begin >= WORTH_SECONDS:
                _keep(store, kind, key, found, classes)
            return found

        return search

    return decorate


def _keep(store: Store, kind: str, key: bytes, found: object, classes: tuple[type, ...]) -> None:
    """Keep a result, if reading it makes the same value."""
    try:
        data = packed(found)
        if packed(unpacked(data, classes)) == data:
            store.put(kind, key, data)
    except (TypeError, ValueError):
        pass


def use(store: Store | None) -> Store | None:
    """Use a store from now on, or none; returns the one before."""
    global _store
    before, _store = _store, store
    return before


Handed: TypeAlias = tuple[str, int, bytes]
"""What another process needs to know of a store."""


def handed() -> Handed | None:
    """The store in use, for another process."""
    return None if _store is None else (_store.folder, _store.bound, _store.code)


def take(store: Handed | None) -> None:
    """Use the store of the process that has started this one."""
    use(None if store is None else Store(*store))


def settle() -> None:
    """Write what was found, for other processes to find."""
    if _store is not None:
        _store.settle()


def keep_results(folder: str | os.PathLike[str] | None = None) -> AbstractContextManager[None]:
    """
    A context in which results of searches are kept in a folder, by default that of the command line (docs/cache.md).

    It does nothing where there is no such folder; whatever is wrong with it, results are computed. Raises `UsageError`
    for a name that no folder has.
    """
    argument("folder", folder, PATH | None)
    name = None if folder is None else os.fspath(folder)
    if name is not None and (not name or "\0" in name):
        raise UsageError(f"folder: {name!r} is the name of no folder")
    return _keeping(place([] if name is None else [OPTION, name], os.environ))


@contextmanager
def _keeping(found: Place) -> Generator[None]:
    from npuc.compiler.core.cache.code import code_digest

    store = None if found.folder is None else Store(found.folder, found.bound, code_digest())
    before = use(store)
    try:
        yield
    finally:
        use(before)
        if store is not None:
            store.close()
