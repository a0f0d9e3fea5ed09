"""Machines of small units, and random ones."""

from fractions import Fraction

from hypothesis import strategies as st

from npuc.compiler.analysis.hetero.classes import KINDS, UnitKind
from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine


def unit(kind: UnitKind, pes: int = 4, buffer_bytes: int = 256, name: str | None = None) -> SparseUnit:
    """A unit of a kind."""
    return SparseUnit(name or kind, kind, pes, buffer_bytes, 1.0, 0.5)


def machine(*units: SparseUnit, bytes_per_second: float = 1e9) -> UnitMachine:
    """Units at 1 GHz."""
    return UnitMachine("small", units, 1e9, bytes_per_second, 10.0)


DENSITIES = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)])
SIZES = st.integers(1, 9)
PRODUCTS = st.builds(SparseProduct, st.just("p"), SIZES, SIZES, SIZES, DENSITIES, DENSITIES)
KINDS_AND_SIZES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(1, 8), st.sampled_from([16, 64, 1024])), min_size=1, max_size=3
)


@st.composite
def machines(draw: st.DrawFn) -> UnitMachine:
    """One to three units under a bandwidth that limits, or does not."""
    units = [unit(*one, name=f"u{number}") for number, one in enumerate(draw(KINDS_AND_SIZES))]
    return machine(*units, bytes_per_second=draw(st.sampled_from([1e8, 1e9, 1e10, 1e13])))


MACHINES = machines()
