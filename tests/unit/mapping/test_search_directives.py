"""Candidates by directives compute each point once, and cost what their cluster form costs exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.maestro.batch import evaluate
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.best import exact_costs
from npuc.compiler.explore.mapping.directives import as_directives, directive_space
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.dialects.mapping import Problem
from npuc.hardware import load_hardware
from tests.mappings import layers

PES = 12


@given(layers(), st.integers(1, 3), st.booleans())
@settings(max_examples=25)
def test_directives_compute_each_point_once(problem: Problem, levels: int, divisors: bool) -> None:
    batch = RandomMapper(directive_space(problem, PES, levels, divisors=divisors), 0).propose(8)
    written = as_directives(problem, batch)
    for row in range(len(batch)):
        mapping = mapping_of(problem, written, row)
        assert list(mapping.problems()) == []
        assert not coverage(mapping, PES)


@pytest.mark.parametrize(
    "problem",
    [
        Problem("GEMM", (("M", 12), ("N", 8), ("K", 6))),
        Problem("CONV", (("K", 4), ("C", 6), ("R", 3), ("S", 3), ("Y", 8), ("X", 6))),
        Problem("DSCONV", (("C", 6), ("R", 3), ("S", 3), ("Y", 9), ("X", 9)), (("Y", 2), ("X", 2))),
    ],
)
def test_directives_cost_what_cluster_form_costs_in_mode_exact(problem: Problem) -> None:
    machine = {"maestro.num_pes": PES, "maestro.noc_bw": 4, "maestro.mode": "exact"}
    batch = RandomMapper(directive_space(problem, PES), 3).propose(300)
    table = evaluate(problem, as_directives(problem, batch), load_hardware(machine))
    costs = exact_costs((contraction_of(problem),), batch, PeArray(PES, noc_bw=4))
    np.testing.assert_array_equal(table["runtime_cycles"], costs.cycles)
    np.testing.assert_array_equal(table["energy_total_mac_units"], costs.energy)
