"""What counts as equal."""

import numpy as np

from npuc.compiler.interpreter.compare import compare

ONE = np.ones(3)


def test_integers_must_be_equal_to_the_bit() -> None:
    outcome = compare({"a": ONE * 2**40}, {"a": ONE * 2**40})
    assert outcome.equal
    assert outcome.exact
    assert str(outcome) == "bit-equal"
    outcome = compare({"a": ONE * 2**40}, {"a": ONE * 2**40 + [0, 1, 0]})
    assert not outcome.equal
    assert outcome.name == "a"


def test_one_fraction_makes_the_comparison_relative() -> None:
    before = {"a": ONE, "b": ONE * 0.1}
    outcome = compare(before, {"a": ONE * (1 + 1e-10), "b": ONE * 0.1})
    assert outcome.equal
    assert not outcome.exact
    assert not compare(before, {"a": ONE * (1 + 1e-8), "b": ONE * 0.1}).equal


def test_noise_of_sums_that_cancel_is_forgiven_only_below_the_scale_of_the_run() -> None:
    big = {"big": np.array([1.5])}
    assert compare({**big, "a": np.array([1e-17])}, {**big, "a": np.array([-3e-17])}).equal
    assert not compare({**big, "a": np.array([1e-10])}, {**big, "a": np.array([-1e-10])}).equal


def test_integers_beyond_float64_are_compared_relatively() -> None:
    huge = {"a": np.array([2.0**60])}
    outcome = compare(huge, {"a": np.array([2.0**60 + 256])})
    assert outcome.equal
    assert not outcome.exact


def test_a_value_that_is_gone_differs_and_a_new_one_does_not() -> None:
    assert compare({"a": ONE, "b": ONE}, {"a": ONE}).name == "b"
    assert compare({"a": ONE}, {"a": ONE, "b": ONE}).equal


def test_shapes_and_infinities_must_agree() -> None:
    assert not compare({"a": ONE}, {"a": np.ones(4)}).equal
    assert not compare({"a": np.array([np.inf, 0.5])}, {"a": np.array([1e300, 0.5])}).equal
    assert compare({"a": np.array([np.inf, np.nan, 0.5])}, {"a": np.array([np.inf, np.nan, 0.5])}).equal


def test_what_the_last_digits_of_the_data_move_is_forgiven_and_said() -> None:
    before, moved = {"a": np.array([1.5, -2.5])}, {"a": np.array([1.5001, -2.5])}
    outcome = compare(before, {"a": np.array([1.5, -2.5003])}, moved)
    assert outcome.equal
    assert str(outcome) == "equal within rounding, which this program amplifies to 4e-05 on this data"
    assert not compare(before, {"a": np.array([1.5, -2.6])}, moved).equal
    assert not compare(before, {"b": np.array([1.5])}, moved).equal
    assert not compare(before, {"a": np.array([np.nan, -2.5])}, moved).equal


def test_booleans_beside_fractions_are_compared_too() -> None:
    before = {"a": np.array([1.5]), "b": np.array([True, False])}
    assert compare(before, before).equal
    assert compare(before, before, before).equal
    after = {"a": np.array([1.5]), "b": np.array([True, True])}
    assert compare(before, after).name == "b"
    assert compare(before, after, before).name == "b"


def test_every_element_of_a_large_array_counts() -> None:
    before = {"a": np.full((3, 50_000), 0.5)}
    for wrong in (0.6, np.inf, np.nan):
        after = before["a"].copy()
        after[2, -1] = wrong
        assert not compare(before, {"a": after}).equal
    assert compare(before, {"a": before["a"].copy()}).equal
    last = {"a": np.append(np.ones(1 << 16), 0.5)}
    assert not compare(last, last).exact
    largest = {"a": np.append(np.zeros(1 << 16), 1e12)}
    assert compare({**largest, "b": np.array([0.5])}, {**largest, "b": np.array([0.6])}).equal
