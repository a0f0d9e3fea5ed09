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
    alone = [asked.alone(step) for step in range(len(problem.steps))]
    if problem.objective in ("energy", "edp") and alone:
        alone[0].score(problem.objective)  # raises where the machine says no energies
    candidates = candidates_of(problem, alone)
    if not len(candidates.first):
        return ()
    proposal = Proposals(candidates, network or own_network(), _weights(problem, alone), len(problem.steps))
    for hope in HOPES:
        for _ in range(ROUNDS):
            proposal.correct(hope)
            new = [row for row in proposal.best() if not proposal.exact[row]]
            if not new:
                break
            bought = 0
            for row in proposal.by_promise(new):
                seen = proposal.has_seen(row)
                if seen or (bought < A_ROUND and len(proposal.seen) < PRICED):
                    bought += not seen
                    proposal.price(row, asked.within(*proposal.group(row), proposal.limit(row)))
    plan = tuple(FusedGroup(*proposal.group(row)) for row in proposal.best(only_exact=True))
    return improving(problem, asked, plan)


def _weights(problem: FusionProblem, alone: list[ReportedCost]) -> Table:
    """What a cycle, a bit and a joule count; a product of time and energy is taken as linear around today's."""
    if problem.objective == "time":
        return np.array([1.0, 0.0, 0.0])
    if problem.objective == "traffic":
        return np.array([0.0, 1.0, 0.0])
    if problem.objective == "energy":
        return np.array([0.0, 0.0, 1.0])
    cycles = sum(one.cycles for one in alone)
    joules = sum(one.joules or 0.0 for one in alone)
    return np.array([1 / max(cycles, 1), 0.0, 1 / max(joules, 1e-30)])


class Proposals:
    """What all candidates save as far as it is known, and the plan that saves most by that."""

    def __init__(self, candidates: GroupCandidates, network: Network, weights: Table, steps: int):
        self.candidates, self.weights, self.steps = candidates, weights, steps
        hidden = network.hidden(candidates.features)
        self.guess = network.guess(candidates.features, hidden).astype(np.float64)
        self.basis = np.concatenate([hidden / max(float(hidden.std()), 1e-6), np.ones((len(hidden), 1))], axis=1)
        self.saves = self._saved(self.guess)
        self.exact = np.zeros(len(self.saves), dtype=bool)
        self.known = np.zeros(len(self.saves), dtype=bool)
        self.seen: dict[int, int] = {}
        self.errors: list[Table] = []
        self.alike = _alike(candidates)

    def _saved(self, guess: Table) -> Table:
        return self.candidates.apart * (1 - np.exp(np.clip(guess, -6, 4))) @ self.weights

    def group(self, row: int) -> tuple[int, int, int]:
        """The first step, the last one and the micro-batch of a candidate."""
        found = self.candidates
        return int(found.first[row]), int(found.last[row]), int(found.micro[row])

    def by_promise(self, rows: list[int]) -> list[int]:
        """Rows of a plan, those first that save most together with all that look the same."""
        promised: dict[int, float] = {}
        for row in rows:
            alike = int(self.alike[row])
            promised[alike] = promised.get(alike, 0.0) + float(self.saves[row])
        return sorted(rows, key=lambda row: -promised[int(self.alike[row])])

    def has_seen(self, row: int) -> bool:
        """Whether a candidate that looks the same has a price."""
        return int(self.alike[row]) in self.seen

    def limit(self, row: int) -> float:
        """The score above which a candidate is in no best plan: a known group in its steps saves as much."""
        found = self.candidates
        if np.count_nonzero(self.weights) > 1:
            return np.inf
        inside = self.exact & (found.first >= found.first[row]) & (found.last <= found.last[row])
        known = self.saves[inside]
        return float(found.apart[row] @ self.weights - max(known.max(initial=0.0), 0.0))

    def price(self, row: int, cost: ReportedCost | None) -> None:
        """Take an exact price, None for a group that does not pay; those that look the same are guessed by it."""
        alike = (self.alike == self.alike[row]) & ~self.exact
        apart = self.candidates.apart[row]
        error = np.maximum(DOES_NOT_PAY - self.guess[row], 0) * (self.weights > 0)
        if cost is None:
            self.saves[alike] = -np.inf
        else:
            exact = np.array([cost.cycles, float(cost.moved), cost.joules or 0.0])
            self.saves[alike] = (apart - exact) @ self.weights
            error = np.log(np.maximum(exact, 1e-30) / np.maximum(apart, 1e-30)) - self.guess[row]
        self.exact[row] = True
        self.known |= alike
        if not self.has_seen(row):
            self.seen[int(self.alike[row])] = row
            self.errors.append(np.clip(error, -2, 2))

    def correct(self, hope: float) -> None:
        """
        Guess again what has no price: the last layer is fitted to the errors of the guesses that have one.

        `hope` is by how much a cost may be less than its guess, as a logarithm.
        """
        if not self.errors:
            self.saves = self._saved(self.guess - hope)
            return
        basis = self.basis[list(self.seen.values())]
        errors = np.array(self.errors)
        fitted = np.linalg.solve(basis @ basis.T + RIDGE * np.eye(len(basis)), errors)
        open_rows = ~self.known
        self.saves[open_rows] = self._saved(self.guess - hope + self.basis @ (basis.T @ fitted))[open_rows]

    def best(self, *, only_exact: bool = False) -> list[int]:
        """The rows of the plan that saves most, in the order of their steps."""
        found = self.candidates
        rows = np.nonzero((self.saves > 0) & (self.exact | (not only_exact)))[0]
        first: list[int] = found.first[rows].tolist()
        last: list[int] = found.last[rows].tolist()
        saves: list[float] = self.saves[rows].tolist()
        best_of: dict[tuple[int, int], int] = {}
        for place, key in enumerate(zip(first, last, strict=True)):
            if key not in best_of or saves[place] > saves[best_of[key]]:
                best_of[key] = place
        ahead: dict[int, list[int]] = {}
        for (begin, _), place in best_of.items():
            ahead.setdefault(begin, []).append(place)
        saved = [0.0] * (self.steps + 1)
        chosen: list[int | None] = [None] * self.steps
        for step in reversed(range(self.steps)):
            saved[step] = saved[step + 1]
            for place in ahead.get(step, ()):
                total = saves[place] + saved[last[place] + 1]
                if total > saved[step]:
                    saved[step], chosen[step] = total, place
        plan: list[int] = []
        step = 0
        while step < self.steps:
            place = chosen[step]
            if place is None:
                step += 1
                continue
            plan.append(int(rows[place]))
            step = last[place] + 1
        return plan


def _alike(candidates: GroupCandidates) -> Integers:
    """For each candidate the number of those that look the same."""
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in candidates.features]
    return np.array(found, dtype=np.int64)
