"""Hints of names that are not known."""

from npuc.compiler.core.errors import MOST_LISTED, did_you_mean


def test_a_near_name_is_asked_for_and_others_are_listed_in_order() -> None:
    assert did_you_mean("conv", ["pool", "conv1"]) == "did you mean 'conv1'?"
    assert did_you_mean("zzz", ["pool", "conv1"]) == "known: conv1, pool"
    assert did_you_mean("zzz", []) == "known: none"


def test_many_names_are_patterns_where_they_differ_in_the_number_of_a_part() -> None:
    names = [f"h.{block}.{name}" for block in range(12) for name in ("fc1", "fc2")] + ["stage2.0.conv", "logits"]
    assert len(names) > MOST_LISTED
    assert did_you_mean("zzz", names) == "known: h.*.fc1, h.*.fc2, logits, stage2.0.conv"
    few = names[:MOST_LISTED]
    assert did_you_mean("zzz", few) == f"known: {', '.join(sorted(few))}"
