"""
The elements that one step of a level moves, and its work: the rules of MAESTRO's source.

Volumes are first those of one sub-cluster (the first, one in the middle, the last with less than the others), then
those of a level: neighbours share the overlap of their tiles, and a tensor that the spatial maps do not index is sent
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npuc.compiler.analysis.mapping.cases import Case, StepState
from npuc.compiler.analysis.mapping.levels import DirectiveLevel, DirectiveTiles, Unmappable
from npuc.dialects.mapping import Role
from npuc.dialects.mapping.problem import OUTPUT


@dataclass(frozen=True)
class LevelCase:
    """A case of a level."""

    level: DirectiveLevel
    case: Case

    @property
    def _moving(self) -> int | None:
        """The innermost directive that is not at its first tile."""
        return next((i for i in range(len(self.case) - 1, -1, -1) if self.case[i].moved), None)

    def _coupled(self, role: Role) -> list[tuple[int, DirectiveTiles, StepState]]:
        dims = self.level.problem.coupled(role)
        rows = zip(self.level.tiles, self.case, strict=True)
        return [(i, t, state) for i, (t, state) in enumerate(rows) if t.dim in dims]

    def _spatial(self, role: Role) -> list[StepState]:
        """The states of the spatial maps that index a tensor, in its order; of a dimension mapped twice the last."""
        known = {t.dim: state for t, state in zip(self.level.tiles, self.case, strict=True)}
        mapped = {t.dim for t in self.level.tiles if t.spatial}
        return [known[dim] for dim in self.level.problem.coupled(role) if dim in mapped]

    def load(self, role: Role, *, first: bool = True, last: bool = False) -> int:
        """What one sub-cluster gets of an input tensor. Raises `Unmappable` where MAESTRO gives up."""
        moving = self._moving
        if moving is None:
            return self._whole(role, first, last)
        rows = self._coupled(role)
        own = next((t for i, t, _ in rows if i == moving), None)
        if own is None:
            return 0
        if not own.spatial and self.level.sizes[own.dim].unique == 0:
            raise Unmappable(f"{own.dim} moves at a level whose tiles are as large as it is")
        again = any(i > moving and not state.moved and not state.whole for i, _, state in rows)
        product = 1
        for i, t, state in rows:
            only_new = i == moving and not again
            product *= self._extent(t, state, only_new, first=first, last=last, outside=i <= moving)
        return product

    def _whole(self, role: Role, first: bool, last: bool) -> int:
        product = 1
        for _, t, state in self._coupled(role):
            s = self.level.sizes[t.dim]
            if not state.edge:
                product *= s.mapped
            elif not t.spatial:
                product *= s.mapped_edge
            elif self.level.edges == 1:
                product *= s.mapped_edge if first or last else 1
            else:
                product *= s.mapped_edge if last else s.mapped
        return product

    def _extent(
        self, t: DirectiveTiles, state: StepState, only_new: bool, *, first: bool, last: bool, outside: bool
    ) -> int:
        """The factor of one dimension in what a sub-cluster gets."""
        s = self.level.sizes[t.dim]
        mapped = s.mapped_edge if last else s.mapped
        unique = s.unique_edge if last else s.unique
        if not t.spatial:
            if not state.moved:
                return s.mapped_edge if state.edge else s.mapped
            return max(s.unique, 1) if only_new else s.mapped
        if first:
            return mapped
        if not state.moved:
            return mapped if outside else unique
        return unique if only_new else mapped

    def ingress(self, role: Role) -> int:
        """What all sub-clusters get of an input tensor; what several get is sent once."""
        return self._all(role, lambda first, last: self.load(role, first=first, last=last))

    def egress(self) -> int:
        """What all sub-clusters give of the output."""
        return self._all("O", lambda first, last: self.outputs(first=first, last=last))

    def _all(self, role: Role, volume: Callable[[bool, bool], int]) -> int:
        spatial = self._spatial(role)
        if not spatial:
            return volume(True, False)
        edges = self.level.edges
        if not any(state.edge for state in spatial):
            return volume(True, False) + (self.level.width - 1) * volume(False, False)
        ragged = spatial[-1].ragged
        total = volume(True, edges == 1 and ragged)
        if edges > 1:
            total += max(edges - ragged - 1, 0) * volume(False, False)
            total += volume(False, True) if ragged else 0
        return total

    def outputs(self, *, first: bool = True, last: bool = False, sums: bool = False, fresh: bool = True) -> int:
        """Outputs of one sub-cluster, or with `sums` its multiply-accumulates; `fresh`: not those of its neighbour."""
        product = 1
        if sums:
            dims = self.level.problem.coupled("O")
            for t, state in zip(self.level.tiles, self.case, strict=True):
                if t.dim not in dims:
                    product *= self._taps(t, state, first, last)
        for _, t, state in self._coupled("O"):
            product *= self._output_extent(t, state, first, last, fresh)
        return product

    def _taps(self, t: DirectiveTiles, state: StepState, first: bool, last: bool) -> int:
        """The factor of a dimension that is summed over."""
        s = self.level.sizes[t.dim]
        if not t.spatial:
            return s.mapped_edge if state.edge else s.mapped
        if state.position == "first" and state.edge and last:
            return s.mapped_edge
        if state.position == "edge":
            if self.level.edges == 1:
                return s.mapped_edge if first or last else 1
            if last:
                return s.unique_edge
        return s.mapped if first else s.unique or 1

    def _output_extent(self, t: DirectiveTiles, state: StepState, first: bool, last: bool, fresh: bool) -> int:
        """The factor of a dimension of the output."""
        s = self.level.sizes[OUTPUT.get(t.dim, t.dim) if self.level.problem.slides else t.dim]
        if not t.spatial:
            return s.mapped_edge if state.edge else s.mapped
        edges = self.level.edges
        if state.position == "first" and state.edge and last:
            return s.mapped_edge if edges == 1 or not fresh else s.unique_edge
        if state.position == "edge":
            if edges == 1:
                # The size of the *input's* tile, also along Y and X: MAESTRO counts too much here.
                return self.level.sizes[t.dim].mapped_edge if first or last else 1
            if last:
                return s.unique_edge
        return s.mapped if first else s.unique or 1

    def critical(self) -> int:
        """The multiply-accumulates of the sub-cluster that has most."""
        spatial = self._spatial("O")
        last = any(s.edge for s in spatial) and self.level.edges == 1 and spatial[-1].ragged
        return self.outputs(sums=True, last=last)

    def work(self) -> int:
        """The multiply-accumulates of all sub-clusters."""
        spatial = [s for t, s in zip(self.level.tiles, self.case, strict=True) if t.spatial]
        edges = self.level.edges
        if not any(s.edge for s in spatial):
            return self.level.width * self.outputs(sums=True)
        ragged = spatial[-1].ragged
        total = self.outputs(sums=True, last=edges == 1 and ragged)
        if edges > 1:
            total += max(edges - ragged - 1, 0) * self.outputs(sums=True)
            total += self.outputs(sums=True, first=False, last=True, fresh=False) if ragged else 0
        return total
