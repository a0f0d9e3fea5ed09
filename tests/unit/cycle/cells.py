"""The in-place array cell by cell and cycle by cycle: what the closed form is tested against."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[np.int64]


@dataclass
class Cells:
    """
    Cells (n, c), row 0 at the bottom: a weight, a sum, and what they pass upwards and to the right.

    Every method runs as long as it must and counts `cycles`.
    """

    rows: int
    cols: int

    def __post_init__(self) -> None:
        self.w: Matrix = np.zeros((self.rows, self.cols), np.int64)
        self.sums: Matrix = self.w.copy()
        self.up: Matrix = self.w.copy()
        self.right: Matrix = self.w.copy()
        self.cycles = 0

    def preload(self, w: Matrix) -> None:
        """Weights W[c, n], shifted in from below, the top row first."""
        for row in reversed(range(self.rows)):
            self.w = np.vstack([w[None, :, row], self.w[:-1]])
            self.cycles += 1

    def drain(self) -> Matrix:
        """The sums dW[c, n], shifted out at the top; zeros come after."""
        out = np.zeros((self.cols, self.rows), np.int64)
        for row in reversed(range(self.rows)):
            out[:, row] = self.sums[-1]
            self.sums = np.vstack([np.zeros((1, self.cols), np.int64), self.sums[:-1]])
            self.cycles += 1
        return out

    def step(self, mode: str, below: Matrix, left: Matrix) -> None:
        """One cycle: every cell takes what the ones below and to its left passed on in the cycle before."""
        up, right = np.vstack([below[None], self.up[:-1]]), np.hstack([left[:, None], self.right[:, :-1]])
        if mode == "dw":
            self.sums = self.sums + up * right
        self.up = up + right * self.w if mode == "dx" else up
        self.right = right + up * self.w if mode == "forward" else right
        self.cycles += 1

    def run(self, mode: str, x: Matrix | None, dy: Matrix | None) -> Matrix:
        """
        The rows of X from below, column c later by c, or of dY from the left, row n later by n, or both; until the last
        cell has seen the last row. Returns Y or dX as it leaves at the right or at the top; nothing for dW.
        """
        streams = [s for s in (x, dy) if s is not None]
        m = len(streams[0])
        start, size = self.cycles, self.rows if mode == "forward" else self.cols
        out, done = np.zeros((m, size), np.int64), np.zeros((m, size), np.int64)
        self.up, self.right = np.zeros_like(self.up), np.zeros_like(self.right)
        while True:
            t = self.cycles - start
            self.step(mode, skewed(x, t, self.cols), skewed(dy, t, self.rows))
            edge, far = (self.right[:, -1], self.cols) if mode == "forward" else (self.up[-1], self.rows)
            for i in range(size):
                row = t - i - (far - 1)
                if 0 <= row < m:
                    out[row, i], done[row, i] = edge[i], 1
            if (mode == "dw" and t == m + self.rows + self.cols - 3) or (mode != "dw" and done.all()):
                return out


def skewed(stream: Matrix | None, t: int, size: int) -> Matrix:
    """What enters in cycle t: of column i the row t - i, zeros outside."""
    values = np.zeros(size, np.int64)
    if stream is not None:
        for i in range(size):
            if 0 <= t - i < len(stream):
                values[i] = stream[t - i, i]
    return values


def wave(rows: int, cols: int, blocks: list[tuple[Matrix, Matrix]]) -> tuple[list[Matrix], int]:
    """
    Forward products X W of blocks (X, W) one behind the other, without waiting for the last cell.

    A cell starts a block when the one before it (below or left) did, a cycle later. New weights follow the last row of
    the old block through the column, N cycles. Returns the products and the cycles.
    """
    w = np.zeros((rows, cols), np.int64)
    up, right = np.zeros((rows, cols), np.int64), np.zeros((rows, cols), np.int64)
    # In a cell's own time, cycle - n - c: which row of which block, and after which time which weights come in.
    plan: dict[int, tuple[int, int]] = {}
    loads: list[tuple[int, Matrix]] = []
    time = 0
    for number, (x, weights) in enumerate(blocks):
        if number == 0 or weights is not blocks[number - 1][1]:
            loads.append((time, weights))
            time += rows
        plan |= {time + m: (number, m) for m in range(len(x))}
        time += len(x)
    outs = [np.zeros((len(x), rows), np.int64) for x, _ in blocks]
    total = time + rows + cols - 2
    for cycle in range(total):
        for c in range(cols):
            for begin, weights in loads:
                at = cycle - c - begin
                if 0 <= at < rows:
                    for n in reversed(range(at + 1)):
                        w[n, c] = w[n - 1, c] if n else weights[c, rows - 1 - at]
        new_up, new_right = np.zeros_like(up), np.zeros_like(right)
        for n in range(rows):
            for c in range(cols):
                if cycle - n - c not in plan:
                    continue
                number, m = plan[cycle - n - c]
                new_up[n, c] = up[n - 1, c] if n else blocks[number][0][m, c]
                new_right[n, c] = (right[n, c - 1] if c else 0) + new_up[n, c] * w[n, c]
                if c == cols - 1:
                    outs[number][m, n] = new_right[n, c]
        up, right = new_up, new_right
    return outs, total
