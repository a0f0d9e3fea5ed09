"""
Procrustes: a column of an array holds a slice of the weights and works as long as the slice has nonzeros.

A pass takes the largest of its columns. Balanced, every slice is split in two halves, and within a pass the densest
half is paired with the sparsest one, the second densest with the second sparsest, and so on: of all ways to pair halves
none has a smaller maximum, so that balanced work is never above unbalanced work of the same mask.

Source: Yang et al., "Procrustes: a dataflow and accelerator for sparse deep neural network training", MICRO 2020,
arXiv 2009.10976; the rule of pairing is recalled, and that halves are paired within a pass is our choice: it needs no
partial sums to move between passes. Densities of slices are log-normal (`sigma`, our choice, for output channels of
trained networks) or equal.
"""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, log, sqrt

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.sparsity.binomial import maximum_moments
from npuc.compiler.analysis.sparsity.factor import DENSE, Work, WorkFactor, sampled
from npuc.compiler.core.errors import UsageError

PASSES = 4096
"""Passes that are sampled where there is no closed form."""


def work_factor(
    density: float,
    slice_size: int,
    columns: int,
    *,
    balanced: bool = False,
    sigma: float = 0.0,
    seed: int = 0,
    passes: int = PASSES,
) -> WorkFactor:
    """
    The expected largest column of a pass over the dense work of a column, `slice_size` weights of `density`.

    Weights are nonzero independently; with `sigma` the density of a slice is log-normal (cut off at 1) with that
    deviation of its logarithm and `density` as its mean. Unbalanced with sigma 0 it is exact, from the distribution of
    the largest of `columns` binomial counts; else counts of `passes` passes are sampled, the mask is never made.
    """
    check(density, slice_size, columns)
    if sigma < 0.0:
        raise UsageError(f"the deviation of densities is {sigma}, expected at least 0")
    if density == 1.0:
        return DENSE
    if not balanced and sigma == 0.0:
        mean, spread = maximum_moments(slice_size, density, columns)
        return WorkFactor(max(mean / slice_size, density), spread / slice_size)
    return _sampled(density, slice_size, columns, balanced, sigma, seed, passes)


@lru_cache(maxsize=4096)
def _sampled(
    density: float, slice_size: int, columns: int, balanced: bool, sigma: float, seed: int, passes: int
) -> WorkFactor:
    halves = sampled_halves(density, slice_size, columns, sigma=sigma, seed=seed, passes=passes)
    work = pass_work(halves, balanced=balanced)
    return sampled(work / slice_size, density)


def check(density: float, slice_size: int, columns: int) -> None:
    """Refuse what is no density, no slice or no array."""
    if not 0.0 < density <= 1.0:
        raise UsageError(f"the density is {density}, expected above 0 and at most 1")
    if slice_size < 1 or columns < 1:
        raise UsageError(f"found slices of {slice_size} weights on {columns} columns, expected at least 1 of both")


def sampled_halves(
    density: float, slice_size: int, columns: int, *, sigma: float = 0.0, seed: int = 0, passes: int = PASSES
) -> Work:
    """The nonzeros of both halves of each slice of independent passes, of shape (passes, columns, 2)."""
    random = np.random.default_rng(seed)
    densities = np.full((passes, columns), density)
    if sigma > 0.0:
        scale = log_normal_scale(density, sigma)
        densities = np.minimum(scale * np.exp(sigma * random.standard_normal((passes, columns))), 1.0)
    sizes = np.array([(slice_size + 1) // 2, slice_size // 2])
    return random.binomial(sizes, densities[..., np.newaxis]).astype(np.int64)


def log_normal_scale(mean: float, sigma: float) -> float:
    """The median of a log-normal variable that is cut off at 1 and then has this mean, by bisection."""
    low, high = log(mean) - sigma * sigma, log(mean) + 64.0 * sigma
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _cut_mean(middle, sigma) < mean else (low, middle)
    return exp((low + high) / 2.0)


def _cut_mean(center: float, sigma: float) -> float:
    """The mean of min(1, exp(center + sigma z)) for a normal z."""

    def normal(x: float) -> float:
        return (1.0 + erf(x / sqrt(2.0))) / 2.0

    edge = -center / sigma
    return exp(center + sigma * sigma / 2.0) * normal(edge - sigma) + 1.0 - normal(edge)


def pass_work(halves: Work, *, balanced: bool) -> Work:
    """The time of each pass in nonzeros, of the nonzeros of halves of shape (passes, columns, 2)."""
    if not balanced:
        return halves.sum(-1).max(-1)
    ordered = np.sort(halves.reshape(len(halves), -1), axis=-1)
    return (ordered + ordered[:, ::-1]).max(-1)


def mask_work(mask: npt.NDArray[np.bool_], columns: int, *, balanced: bool = False) -> Work:
    """
    The time of each pass over a mask of shape (slices, weights), in nonzeros.

    Slices go to the columns in their order, as many to a pass as there are columns; the last pass may have fewer.
    """
    size = mask.shape[1]
    counts = np.stack([np.count_nonzero(half, axis=1) for half in np.split(mask, [(size + 1) // 2], axis=1)], axis=1)
    starts = range(0, len(counts), columns)
    works = [pass_work(counts[np.newaxis, start : start + columns], balanced=balanced)[0] for start in starts]
    return np.array(works, np.int64)


def mask_factor(mask: npt.NDArray[np.bool_], columns: int, *, balanced: bool = False) -> float:
    """The counted work of all passes over a mask (slices, weights), over that of dense weights."""
    work = mask_work(mask, columns, balanced=balanced)
    return float(work.sum()) / (len(work) * mask.shape[1])


def overhead(factor: WorkFactor, density: float) -> float:
    """The share by which work is above perfect balance."""
    return factor.mean / density - 1.0
