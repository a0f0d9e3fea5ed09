"""
The labels of the partition predictor: every layer of the study in every scheme, under the preset `lru`.

    python -m npuc.studies.igo.labels > compiler/analysis/schedule/partition_labels.csv
"""

import csv
import sys
from collections.abc import Iterator

from npuc.compiler.analysis.schedule.partition_knn import SCHEMES
from npuc.studies.igo.lru import LruCosts
from npuc.studies.igo.networks import workloads
from npuc.studies.igo.products import Size
from npuc.studies.igo.settings import LARGE, SMALL, Setting
from npuc.studies.igo.times import ORDERS, scheme_costs

CHIPS = (LARGE, *(Setting("large", cores=cores) for cores in (2, 4, 8)), SMALL)
COLUMNS = ("npu", "cores", "m", "n", "k", "sequential", *(f"time_{scheme}" for scheme in SCHEMES))


def label_rows(setting: Setting) -> Iterator[dict[str, str]]:
    """A row a layer that has both gradients, largest rows M last; times in whole cycles."""
    products = [p for (npu, _), own in workloads().items() if npu == setting.npu for p in own if p.has_dx]
    costs = LruCosts(setting.machine)
    for size in sorted({(int(p.m * setting.scale), p.n, p.k) for p in products}):
        layer = Size(*size)
        times = {scheme: cost.time for scheme, cost in scheme_costs(costs, layer).items()}
        if setting.cores == 1:
            times["whole"] = min(costs.together(layer, order).time for order in ORDERS)
        cells = {f"time_{scheme}": str(round(times[scheme])) if scheme in times else "" for scheme in SCHEMES}
        sizes = {name: str(value) for name, value in zip("mnk", size, strict=True)}
        chip = {"npu": setting.npu, "cores": str(setting.cores)}
        yield chip | sizes | {"sequential": str(round(costs.sequential(layer).time))} | cells


def main() -> None:
    """Write the labels to standard output."""
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for setting in CHIPS:
        writer.writerows(label_rows(setting))


if __name__ == "__main__":
    main()
