"""
Stages of a tile instruction on a register-fed, weight-stationary array, and how instructions overlap (RASA).

An instruction multiplies TM x TK by TK x TN on an array of TK rows and TN columns:

    WL weight load  TK        FF feed first  TM        FS feed second  TK - 1        DR drain  TN

    base                   the next instruction begins after DR
    pipe                   its WL begins after FS, beside DR
    wlbp                   and with the same weights it has no WL: FF begins after FS
    db-wls                 WL fills a second register beside FF and FS; FF follows FF
    dm-pipe, dm-wlbp, dmdb-wls    two multipliers an element: WL = TK / 2, FS = TK / 2 - 1

A stream of groups of u instructions that share weights takes, with G groups and I instructions,

    base    I (WL + FF + FS + DR)
    pipe    I (WL + FF + FS) + DR
    wlbp    G WL + I (FF + FS) + DR
    db      WL + max(WL, u FF) of every group but the last, u FF of the last, + FS + DR
"""

from typing import Literal

from npuc.compiler.core.frozen import frozen

Overlap = Literal["base", "pipe", "wlbp", "dm-pipe", "dm-wlbp", "db-wls", "dmdb-wls"]
OVERLAPS: tuple[Overlap, ...] = ("base", "pipe", "wlbp", "dm-pipe", "dm-wlbp", "db-wls", "dmdb-wls")


@frozen
class Stages:
    """
    Cycles of an instruction stream: `block` per instruction, `reload` per change of weights, `once` per stream.

    `hidden` are the cycles of a weight load that overlaps the instructions before it: after a group of `blocks`
    instructions the array waits `wait(blocks)` cycles for it. `load` are those of any weight load, `deep` the
    multipliers of an element.
    """

    block: int
    reload: int
    once: int
    load: int
    deep: int = 1
    hidden: int = 0

    def wait(self, blocks: int) -> int:
        """The cycles of a hidden load that a group of `blocks` instructions is too short to hide."""
        return max(0, self.hidden - blocks * self.block)

    def stream(self, groups: list[int]) -> int:
        """The cycles of groups of instructions, given their sizes; each group has weights of its own."""
        waits = sum(self.wait(size) for size in groups[:-1])
        return self.once + sum(groups) * self.block + len(groups) * self.reload + waits


def stages(overlap: Overlap, rows: int, cols: int, tile_m: int) -> Stages:
    """The stages of an instruction of `tile_m` rows on an array of `rows` x `cols` elements."""
    deep = 2 if overlap.startswith("dm") else 1
    height = -(-rows // deep)
    load, feed, second, drain = height, tile_m, height - 1, cols
    match overlap:
        case "base":
            return Stages(load + feed + second + drain, 0, 0, load, deep)
        case "pipe" | "dm-pipe":
            return Stages(load + feed + second, 0, drain, load, deep)
        case "wlbp" | "dm-wlbp":
            return Stages(feed + second, load, drain, load, deep)
        case "db-wls" | "dmdb-wls":
            return Stages(feed, 0, load + second + drain, load, deep, hidden=load)
