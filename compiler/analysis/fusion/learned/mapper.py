"""
A plan by a network that guesses what groups cost, in the place of prices: DNNFuser's question, answered our way.

DNNFuser (Kao, Huang, Krishna, arXiv 2201.11218) trains a transformer to emit a plan, group by group. Here a small
network guesses in one forward pass what every candidate costs over its steps apart, and a dynamic program over the
guesses decodes the plan, so that groups never overlap [our choice]. Exact prices are asked only for what it proposes:
they take the place of guesses, all other guesses are corrected by them, and it proposes again; at last only groups
with a price are chosen from.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from npuc.compiler.analysis.fusion.learned.candidates import GroupCandidates, Integers, candidates_of
from npuc.compiler.analysis.fusion.learned.network import Network, own_network
from npuc.compiler.analysis.fusion.learned.ranges import Table
from npuc.compiler.analysis.fusion.problem import Bounded, FusedGroup, FusionPlan, FusionProblem, Prices, improving
from npuc.compiler.analysis.programs.reported_costs import ReportedCost

ROUNDS = 10
"""How often a plan is proposed at most [our choice]."""
PRICED = 28
"""How many groups that look different are priced at most, those first that promise most [our choice]."""
HOPES = (0.0, 0.03, 0.1)
"""How much better than guessed a group may be that is priced, one after another, as a logarithm [our choice]."""
FEW = 40
"""Programs with no more groups that look different get prices of all of them [our choice]."""
A_ROUND = 6
"""How many of them in one round."""
RIDGE = 10.0
"""How much guesses are trusted against the prices of other groups."""
DOES_NOT_PAY = 0.1
"""The logarithm that stands for the cost of a group that does not pay, over the costs of its steps apart."""


@dataclass
class RememberedPrices:
    """Prices that are asked for once; None for groups that are impossible or above the limit that they had."""

    prices: Prices
    single: dict[int, ReportedCost] = field(default_factory=dict[int, ReportedCost])
    groups: dict[FusedGroup, ReportedCost | None] = field(default_factory=dict[FusedGroup, ReportedCost | None])

    def alone(self, step: int) -> ReportedCost:
        """The cost of a step by itself."""
        if step not in self.single:
            self.single[step] = self.prices.alone(step)
        return self.single[step]

    def group(self, first: int, last: int, micro: int) -> ReportedCost | None:
        """The cost of a range with a group in it."""
        key = FusedGroup(first, last, micro)
        if key not in self.groups:
            self.groups[key] = self.prices.group(first, last, micro)
        return self.groups[key]

    def within(self, first: int, last: int, micro: int, limit: float) -> ReportedCost | None:
        """The cost of a range with a group in it, as far as it is known to score within a limit at less effort."""
        key = FusedGroup(first, last, micro)
        if key not in self.groups:
            if isinstance(self.prices, Bounded):
                self.groups[key] = self.prices.within(first, last, micro, limit)
            else:
                self.groups[key] = self.prices.group(first, last, micro)
        return self.groups[key]

    def ends(self, first: int) -> Iterable[int]:
        """The last steps of ranges that may have a group."""
        return self.prices.ends(first)


def proposed_plan(problem: FusionProblem, prices: Prices, network: Network | None = None) -> FusionPlan:
    """The plan that a network proposes, by default the package's, with only the groups that pay off."""
    asked = RememberedPrices(prices)
    if problem.objective in ("energy", "edp") and problem.steps:
        asked.alone(0).score(problem.objective)  # raises where the machine says no energies
    candidates = candidates_of(problem, asked.alone)
    if not len(candidates.first):
        return ()
    proposal = Proposals(candidates, network or own_network(), _weights(problem, asked), len(problem.steps))
    if len(proposal.known) <= FEW:
        for row in proposal.first:
            proposal.price(row, asked.within(*proposal.group(row), proposal.apart(row)))
    for hope in HOPES:
        for _ in range(ROUNDS):
            proposal.guess_again(hope)
            new = proposal.unknown(proposal.best())[: min(A_ROUND, max(PRICED - len(proposal.errors), 0))]
            if not new:
                break
            for row in new:
                proposal.price(row, asked.within(*proposal.group(row), proposal.limit(row)))
    plan = _confirmed(proposal, asked)
    return improving(problem, asked, plan) if problem.objective in ("energy", "edp") else plan


def _confirmed(proposal: "Proposals", asked: RememberedPrices) -> FusionPlan:
    """The best plan of groups of known kinds, each with its own price; whole numbers add up, so that each pays off."""
    while True:
        rows = proposal.best(only_known=True)
        new = [row for row in rows if row not in proposal.own]
        if not new:
            return tuple(FusedGroup(*proposal.group(row)) for row in rows)
        for row in new:
            proposal.confirm(row, asked.within(*proposal.group(row), proposal.apart(row)))


def _weights(problem: FusionProblem, prices: Prices) -> Table:
    """What a cycle, a bit and a joule count; a product of time and energy is taken as linear around today's."""
    if problem.objective == "time":
        return np.array([1.0, 0.0, 0.0])
    if problem.objective == "traffic":
        return np.array([0.0, 1.0, 0.0])
    if problem.objective == "energy":
        return np.array([0.0, 0.0, 1.0])
    alone = [prices.alone(step) for step in range(len(problem.steps))]
    cycles = sum(one.cycles for one in alone)
    joules = sum(one.joules or 0.0 for one in alone)
    return np.array([1 / max(cycles, 1), 0.0, 1 / max(joules, 1e-30)])


class Proposals:
    """
    What all candidates save as far as it is known, and the plan that saves most by that.

    Those that look the same, with steps that cost the same apart, are of one kind: guessed and priced once. What is
    known of a row by itself, in `own`, goes before what is known of its kind.
    """

    def __init__(self, candidates: GroupCandidates, network: Network, weights: Table, steps: int):
        self.candidates, self.weights, self.steps = candidates, weights, steps
        self.kind, self.first = _kinds(candidates)
        first = self.first
        self.kind_apart = candidates.apart[first]
        hidden = network.hidden(candidates.features[first])
        self.guess = network.guess(candidates.features[first], hidden).astype(np.float64)
        self.basis = np.concatenate([hidden / max(float(hidden.std()), 1e-6), np.ones((len(hidden), 1))], axis=1)
        self.saves = self._saved(self.guess)
        self.known = np.zeros(len(self.saves), dtype=bool)
        self.errors: dict[int, Table] = {}
        """Of kinds with a price how wrong the guesses were, as logarithms."""
        self.own: dict[int, float] = {}

    def _saved(self, guess: Table) -> Table:
        return self.kind_apart * (1 - np.exp(np.clip(guess, -6, 4))) @ self.weights

    def group(self, row: int) -> tuple[int, int, int]:
        """The first step, the last one and the micro-batch of a candidate."""
        found = self.candidates
        return int(found.first[row]), int(found.last[row]), int(found.micro[row])

    def unknown(self, rows: list[int]) -> list[int]:
        """One row of each kind without a price, those first whose kind saves most together."""
        promised: dict[int, float] = {}
        first: dict[int, int] = {}
        for row in rows:
            kind = int(self.kind[row])
            if not self.known[kind]:
                promised[kind] = promised.get(kind, 0.0) + float(self.saves[kind])
                first.setdefault(kind, row)
        return [first[kind] for kind in sorted(promised, key=lambda kind: -promised[kind])]

    def apart(self, row: int) -> float:
        """The score of the steps of a candidate apart; above all scores where scores do not add up."""
        if np.count_nonzero(self.weights) > 1:
            return np.inf
        return float(self.candidates.apart[row] @ self.weights)

    def limit(self, row: int) -> float:
        """The score above which a candidate is in no best plan: a known group in its steps saves as much."""
        found = self.candidates
        inside = (found.first >= found.first[row]) & (found.last <= found.last[row]) & self.known[self.kind]
        return self.apart(row) - max(float(self.saves[self.kind[inside]].max(initial=0.0)), 0.0)

    def price(self, row: int, cost: ReportedCost | None) -> None:
        """Take the price of a candidate for its kind, None for one that does not pay."""
        kind = int(self.kind[row])
        self.confirm(row, cost)
        error = np.maximum(DOES_NOT_PAY - self.guess[kind], 0) * (self.weights > 0)
        if cost is not None:
            exact = np.array([cost.cycles, float(cost.moved), cost.joules or 0.0])
            apart = self.kind_apart[kind]
            error = np.log(np.maximum(exact, 1e-30) / np.maximum(apart, 1e-30)) - self.guess[kind]
        self.saves[kind], self.known[kind] = self.own[row], True
        self.errors[kind] = np.clip(error, -2, 2)

    def confirm(self, row: int, cost: ReportedCost | None) -> None:
        """Take the price of a candidate for itself alone."""
        self.own[row] = -np.inf
        if cost is not None:
            exact = np.array([cost.cycles, float(cost.moved), cost.joules or 0.0])
            self.own[row] = float((self.candidates.apart[row] - exact) @ self.weights)

    def guess_again(self, hope: float) -> None:
        """
        Guess again what has no price: the last layer is fitted to the errors of the guesses that have one.

        `hope` is by how much a cost may be less than its guess, as a logarithm.
        """
        guess = self.guess - hope
        if self.errors:
            basis = self.basis[list(self.errors)]
            errors = np.array(list(self.errors.values()))
            guess += self.basis @ (basis.T @ np.linalg.solve(basis @ basis.T + RIDGE * np.eye(len(basis)), errors))
        self.saves = np.where(self.known, self.saves, self._saved(guess))

    def best(self, *, only_known: bool = False) -> list[int]:
        """The rows of the plan that saves most, in the order of their steps."""
        by_kind = np.where(self.known, self.saves, -np.inf) if only_known else self.saves
        by_row = by_kind[self.kind]
        by_row[list(self.own)] = list(self.own.values())
        choices = by_row.reshape(-1, self.candidates.choices)
        most = choices.argmax(axis=1) + np.arange(len(choices)) * self.candidates.choices
        most = most[by_row[most] > 0]
        return self._chained(most, by_row[most])

    def _chained(self, rows: Integers, saves: Table) -> list[int]:
        """The fewest of some rows, each with what it saves, that save most together without sharing a step."""
        last: list[int] = self.candidates.last[rows].tolist()
        values: list[float] = saves.tolist()
        ahead: dict[int, list[int]] = {}
        for place, begin in enumerate(self.candidates.first[rows].tolist()):
            ahead.setdefault(begin, []).append(place)
        saved = [(0.0, 0)] * (self.steps + 1)  # with the number of groups, negative: of equal plans that with fewer
        chosen: list[int | None] = [None] * self.steps
        for step in reversed(range(self.steps)):
            saved[step] = saved[step + 1]
            for place in ahead.get(step, ()):
                after, groups = saved[last[place] + 1]
                found = values[place] + after, groups - 1
                if found > saved[step]:
                    saved[step], chosen[step] = found, place
        plan: list[int] = []
        step = 0
        while step < self.steps:
            place = chosen[step]
            plan += [] if place is None else [int(rows[place])]
            step = step + 1 if place is None else last[place] + 1
        return plan


def _kinds(candidates: GroupCandidates) -> tuple[Integers, list[int]]:
    """For each candidate the number of its kind, and the first candidate of each kind."""
    rows = np.concatenate([candidates.features.astype(np.float64), candidates.apart], axis=1)
    data, width = rows.tobytes(), rows.itemsize * rows.shape[1]
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(data[at : at + width], len(numbers)) for at in range(0, len(data), width)]
    first: dict[int, int] = {}
    for row, kind in enumerate(found):
        first.setdefault(kind, row)
    return np.array(found, dtype=np.int64), list(first.values())
