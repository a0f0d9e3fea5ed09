"""From the numbers of rotary positions to the options of the language's function, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.frontends.script.recognise.rotary_tables import Options, Order, options_of_frequencies, options_of_tables


def _plain(base: float, half: int) -> Any:
    return base ** (-np.arange(half) / half)


def _llama3(base: float, half: int, factor: float, high: float, length: float) -> Any:
    plain = _plain(base, half)
    kept = np.clip((plain * length / (2 * np.pi) - 1) / (high - 1), 0, 1)
    return plain * (kept + (1 - kept) / factor)


@pytest.mark.parametrize("half", [32, 48, 64])
@pytest.mark.parametrize(("factor", "length"), [(8.0, 8192.0), (32.0, 8192.0), (16.0, 8192.0), (4.0, 4096.0)])
def test_the_scaling_of_published_models_is_found(half: int, factor: float, length: float) -> None:
    found = options_of_frequencies(_llama3(500000.0, half, factor, 4.0, length).astype(np.float32).astype(np.float64))
    assert found == {"base": 500000.0, "scaling": [factor, 1.0, 4.0, length]}


@given(base=st.sampled_from([100.0, 10000.0, 500000.0, 1e6]), half=st.integers(2, 64))
def test_a_base_is_found(base: float, half: int) -> None:
    found = options_of_frequencies(_plain(base, half).astype(np.float32).astype(np.float64))
    assert found == ({} if base == 10000.0 else {"base": base})


@given(st.lists(st.floats(0.001, 3.0), min_size=1, max_size=8), st.integers(2, 2000))
def test_any_angles_are_found(frequencies: list[float], length: int) -> None:
    angles = np.outer(np.arange(length), frequencies)
    found = options_of_tables(np.cos(angles), np.sin(angles), (length, 2 * len(frequencies)), "halves", tiled=False)
    assert found is not None
    np.testing.assert_allclose(_listed(found, len(frequencies)), frequencies, rtol=1e-4, atol=2e-5)


def _listed(options: Options, half: int) -> Any:
    if "frequency" in options:
        return options["frequency"]
    base = options.get("base", 10000.0)
    return _llama3(base, half, *_bounds(options)) if "scaling" in options else _plain(base, half)


def _bounds(options: Options) -> tuple[float, float, float]:
    factor, _, high, length = options["scaling"]
    return factor, high, length


def _angles(length: int, half: int) -> Any:
    return np.arange(length)[:, None] * _plain(10000.0, half)


@pytest.mark.parametrize("order", ["halves", "pairs"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 7, 8), -2), ((2, 7, 3, 8), -3)])
def test_tables_that_broadcast(order: Order, shape: tuple[int, ...], axis: int) -> None:
    angles = _angles(7, 4)
    tiled: Any = np.repeat(angles, 2, -1) if order == "pairs" else np.concatenate([angles, angles], -1)
    placed: Any = tiled[:, None] if axis == -3 else tiled
    whole: Any = np.broadcast_to(placed, (2, *placed.shape)) if axis == -3 else placed
    found = options_of_tables(np.cos(whole), np.sin(whole), shape, order, tiled=True)
    assert found == ({} if axis == -2 else {"axis": -3})


def test_other_tables_are_none() -> None:
    angles = _angles(7, 4)
    cosine, sine = np.cos(angles), np.sin(angles)

    def options(cosine: Any, sine: Any) -> Options | None:
        return options_of_tables(cosine, sine, (2, 7, 8), "halves", tiled=False)

    assert options(cosine, sine) == {}
    assert options(1.1 * cosine, 1.1 * sine) is None
    assert options(cosine[::-1], sine[::-1]) is None
    assert options(cosine, sine**2) is None
    assert options(np.stack([cosine, 2 * cosine]), np.stack([sine, 2 * sine])) is None
    assert options(cosine[:5], sine[:5]) is None
