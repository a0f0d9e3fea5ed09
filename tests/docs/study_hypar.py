"""
The tables and the figure of docs/study-hypar.md: the study as it runs, between markers.

    python -m tests.docs.study_hypar            runs it, about forty seconds, and writes them anew
"""

from collections.abc import Iterator, Mapping

from npuc.studies.hypar.claims import FigureRow
from npuc.studies.hypar.platform import EQUAL, LINK, READINGS
from npuc.studies.hypar.plot import draw
from npuc.studies.hypar.settings import BASE, OURS, SCALES, STUDIED_STRATEGIES, TOPOLOGIES, TOPOLOGY_NAMES
from npuc.studies.hypar.study import HyparResults, plan_study, run_study
from npuc.studies.hypar.topology import AWARE, OVER_DP, TORUS_OVER_TREE, mean_of
from npuc.studies.hypar.view import links_cells, tables_of, value_text
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

PICTURE = FOLDER / "figures" / "hypar.svg"
CLAIMS = {
    "communication": "communication of a step, GB",
    "performance": f"performance over {BASE}, x",
    "energy": f"energy efficiency over {BASE}, x",
}
"""The tables of numbers, and what their rows claim."""


def choice_rows(study: HyparResults) -> Iterator[str]:
    """What HyPar and the joint search choose."""
    yield "| | by | H1 | H2 | H3 | H4 |"
    yield "|---|---|---|---|---|---|"
    for row in study.rows:
        if isinstance(row.ours, tuple) and row.strategy in (OURS, "joint"):
            yield f"| {row.network} | `{row.strategy}` | {' | '.join(row.ours)} |"


def number_rows(study: HyparResults, claim: str) -> Iterator[str]:
    """A row a network."""
    networks = tables_of(study.rows)[claim]
    known = {strategy for rows in networks.values() for strategy in rows}
    shown = [strategy for strategy in STUDIED_STRATEGIES if strategy in known]
    yield f"| {claim} | {' | '.join(f'`{strategy}`' for strategy in shown)} |"
    yield f"|---|{'--:|' * len(shown)}"
    for name, rows in networks.items():
        yield f"| {name} | {' | '.join(_cell(rows[strategy]) for strategy in shown)} |"


def _cell(row: FigureRow) -> str:
    ours = value_text(row.ours)
    if row.published is None:
        return ours
    return f"{ours if row.reproduced else f'**{ours}**'} ({value_text(row.published)})"


def scaling_rows(study: HyparResults) -> Iterator[str]:
    """Bytes and seconds by the number of accelerators."""
    yield f"| {study.scaled} | {' | '.join(map(str, SCALES))} |"
    yield f"|---|{'--:|' * len(SCALES)}"
    for strategy in (BASE, OURS):
        own = [scale for scale in study.scales if scale.strategy == strategy]
        yield f"| `{strategy}`, GB | {' | '.join(value_text(scale.gb) for scale in own)} |"
        for topology in TOPOLOGIES:
            cells = [value_text(scale.seconds.get(topology)) for scale in own]
            yield f"| `{strategy}`, s, {TOPOLOGY_NAMES[topology]} | {' | '.join(cells)} |"


def topology_rows(study: HyparResults) -> Iterator[str]:
    """A row a network: the torus over the tree, the plan made for the torus over others, the slower links."""
    found = tables_of(study.rows)
    torus, aware, slower = (found[f"{claim}, x"] for claim in (TORUS_OVER_TREE, AWARE, OVER_DP))
    heads = [f"torus over tree, `{BASE}`", f"`{OURS}`", f"plan for the torus over `{OURS}`", "over that for the tree"]
    yield f"| | {' | '.join(heads)} | `{OURS}` over `{BASE}`, 25.6 Gb/s |"
    yield f"|---|{'--:|' * (len(heads) + 1)}"
    beside = {network.name: _torus_over_tree_plan(study, network.name) for network in study.networks}
    for name, rows in torus.items():
        known = beside[name] if name in beside else mean_of(list(beside.values()))
        cells = [*(_cell(rows[strategy]) for strategy in (BASE, OURS)), _cell(aware[name]["joint"]), value_text(known)]
        yield f"| {name} | {' | '.join(cells)} | {_cell(slower[name][OURS])} |"


def _torus_over_tree_plan(study: HyparResults, network: str) -> float | None:
    """How many times faster the plan made for the torus is on it than the one made for the tree."""
    own = {row.plan: row.torus_seconds for row in study.topology if (row.network, row.links) == (network, LINK)}
    tree, torus = (own[f"for the {TOPOLOGY_NAMES[topology]}"] for topology in TOPOLOGIES)
    return None if tree is None or torus is None else tree / torus


def link_rows(study: HyparResults) -> Iterator[str]:
    """A row a reading of the links: means over the networks."""
    heads = [f"torus over tree, `{BASE}`", f"`{OURS}`", f"`{OURS}` over `{BASE}`, tree", "torus"]
    yield f"| equal in H-tree and torus | GB/s a level | a ring | {' | '.join(heads)} |"
    yield f"|---|{'--:|' * (2 + len(heads))}"
    for links in READINGS:
        yield f"| {EQUAL[links]} | {' | '.join(links_cells(study.topology, links))} |"


def tables(study: HyparResults) -> Mapping[str, Iterator[str]]:
    """All tables of the page by name."""
    numbers = {name: number_rows(study, claim) for name, claim in CLAIMS.items()}
    return {"choices": choice_rows(study), **numbers, "scaling": scaling_rows(study)} | {
        "topologies": topology_rows(study),
        "links": link_rows(study),
    }


def main() -> None:
    """Write the page's tables and its figure."""
    page = FOLDER / "study-hypar.md"
    study = run_study(plan_study())
    page.write_text(filled(page.read_text(encoding="utf-8"), tables(study)), encoding="utf-8")
    PICTURE.write_bytes(draw(study, "svg"))


if __name__ == "__main__":
    main()
