"""
The dataflows that have names, in the words of MAESTRO's mapping files.

    S K 1; T C c; T R; T S; T Y 1; T X 1 | c | S C 1; T Y 1; T X 1; T R; T S

Levels from the top, the sizes of clusters between them. `S` spreads tiles of a dimension over the sub-clusters, `T`
takes one after another, outermost first. A tile is a number (of Y and X in positions of the output), `c`, the size of
the clusters, or the whole dimension where there is none. `Y'` is a map of the output's rows, `y` of single rows of the
input, which differ in directives alone; `R` as a size of clusters is one element for each row of the filter. What is
not mentioned is whole. Groups and batch come one after the other: groups outermost, images before their rows.

Six are those of the mapping files that MAESTRO ships; a depthwise layer, which has no K, may have directives of its
own there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen

Rows = Literal["Y", "X"]


@frozen
class TemplateMap:
    """A map of a template: `tile` is a number, `c` or empty for the whole dimension."""

    dim: str
    tile: str
    spatial: bool

    @property
    def name(self) -> str:
        """The dimension, Y and X for all that is of their rows."""
        return self.dim.strip("'").upper()

    def elements(self, cluster: int) -> int | None:
        """The size of the tile where clusters are of this size; None is the whole dimension."""
        return None if not self.tile else cluster if self.tile == "c" else int(self.tile)


@frozen
class Template:
    """
    A dataflow. `cluster` is the size `c` where the machine is large enough.

    `rows` is the dimension that a product's rows stand for where they can be but one. `parallel`, `stationary` and
    `source` are for people.
    """

    name: str
    parallel: str
    stationary: str
    source: str
    text: str
    cluster: int = 1
    depthwise: str | None = None
    rows: Rows = "X"

    def levels(self, *, depthwise: bool = False) -> tuple[tuple[TemplateMap, ...], ...]:
        """The maps of each level, from the top."""
        return tuple(_level(level) for level in self._pieces(depthwise)[::2])

    def clusters(self, *, depthwise: bool = False) -> tuple[str, ...]:
        """The sizes of the clusters, from the top: `c` or `R`."""
        return tuple(piece.strip() for piece in self._pieces(depthwise)[1::2])

    def _pieces(self, depthwise: bool) -> list[str]:
        text = self.depthwise if depthwise and self.depthwise is not None else self.text
        return text.split("|")


@lru_cache(maxsize=256)
def _level(text: str) -> tuple[TemplateMap, ...]:
    words = [part.split() for part in text.split(";")]
    return tuple(TemplateMap(word[1], word[2] if len(word) > 2 else "", word[0] == "S") for word in words)


_CHANNELS = "S C 1; T Y 1; T X 1; T R; T S"
_SHIPPED = "MAESTRO data/mapping"

TEMPLATES = (
    Template(
        "kcp_ws",
        "output channels over clusters, input channels inside",
        "weights",
        f"{_SHIPPED}/*_kcp_ws.m; NVDLA",
        "S K 1; T C c; T R; T S; T Y 1; T X 1 | c | S C 1; T Y 1; T X 1; T R; T S",
        cluster=64,
        depthwise=_CHANNELS,
    ),
    Template(
        "ckp_ws",
        "input channels over clusters, output channels inside",
        "weights",
        f"{_SHIPPED}/*_ckp_ws.m; Jouppi et al., ISCA 2017",
        "S C 1; T K c; T R; T S; T Y' 1; T X' 1 | c | S K 1; T R; T S",
        cluster=64,
        depthwise="S C 1; T R; T S; T Y' 1; T X' 1",
    ),
    Template(
        "xp_ws",
        "columns of the output",
        "weights",
        f"{_SHIPPED}/*_xp_ws.m",
        "T K 1; T C 1; T Y 1; S X 1; T R; T S",
    ),
    Template(
        "yxp_os",
        "rows of the output over clusters, columns inside",
        "outputs",
        f"{_SHIPPED}/*_yxp_os.m; Du et al., ShiDianNao, ISCA 2015",
        "T K 1; T C 1; S Y 1; T X c | c | S X 1; T R; T S",
        cluster=8,
        rows="Y",
    ),
    Template(
        "ykp_os",
        "rows of the output over clusters, output channels inside",
        "outputs",
        f"{_SHIPPED}/*_ykp_os.m",
        "T K c; S Y 1; T X 1; T C 1 | c | S K 1; T Y 1; T X 1; T R; T S",
        cluster=16,
        depthwise=_CHANNELS,
        rows="Y",
    ),
    Template(
        "rs",
        "rows of the output over clusters, rows of the filter inside",
        "rows of the filter",
        f"{_SHIPPED}/*_rs.m; Chen et al., Eyeriss, ISCA 2016",
        "S Y' 1; T X' 1; T C 1; T K 16; T R; T S | R | S y 1; S R 1; T S",
        rows="Y",
    ),
    Template(
        "nlr",
        "input channels",
        "nothing",
        f"{_SHIPPED}/*_nlr.m",
        "T K 1; T Y 1; T X 1; T R; T S; S C 1",
    ),
    Template(
        "nmk",
        "rows of the product over clusters, what is summed inside",
        "outputs",
        f"{_SHIPPED}/*_nmk.m",
        "T K 1; S X 1; T C c; T Y 1; T R; T S | c | T K 1; T X 1; S C 1",
        cluster=100,
    ),
    Template(
        "ycp_is",
        "rows of the output over clusters, input channels inside",
        "inputs",
        "npuc: the input is held while the output channels run",
        "S Y 1; T X 1; T C c; T R; T S; T K 1 | c | S C 1; T K 1; T R; T S",
        cluster=16,
        rows="Y",
    ),
)

ALIASES = {
    "nvdla": "kcp_ws",
    "weight_stationary": "kcp_ws",
    "ws": "kcp_ws",
    "tpu": "ckp_ws",
    "shidiannao": "yxp_os",
    "output_stationary": "yxp_os",
    "os": "yxp_os",
    "eyeriss": "rs",
    "row_stationary": "rs",
    "input_stationary": "ycp_is",
    "is": "ycp_is",
}
"""Other names: machines, and what stays."""

DEFAULT = "kcp_ws"
"""The dataflow of a machine that names none."""

_BY_NAME = {template.name: template for template in TEMPLATES}


def mapping_names() -> list[str]:
    """All names that a mapping may be asked for by."""
    return sorted([*_BY_NAME, *ALIASES])


def template_named(name: str) -> Template:
    """The dataflow of a name. Raises `UsageError` with the nearest known one."""
    key = name.lower().replace("-", "_")
    found = _BY_NAME.get(ALIASES.get(key, key))
    if found is None:
        raise UsageError(f"unknown mapping '{name}'", hint=did_you_mean(name, mapping_names()))
    return found
