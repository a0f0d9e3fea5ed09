"""What a chain of layers moves by the papers' definition, level by level: the project's terms are compared with it."""

from collections.abc import Sequence

from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.graph.chain import Amount, BasicType, Layer, LayerSizes, between
from npuc.compiler.analysis.sharding.reference.level_by_level import Choices
from npuc.compiler.core.options import Convention

SIZES = st.integers(1, 60)
LAYERS = st.builds(Layer, st.just("fc"), st.just("fc"), SIZES, SIZES, SIZES)


def level_amounts(layers: Sequence[Layer], choices: Choices, convention: Convention) -> list[Amount]:
    """
    What one pair of groups moves at each level, in elements.

    Under `physical`, of types I and II only, a boundary moves what table 2 says, and a layer that is of type II at a
    level hands on a sum of which each half owns a part: the whole of it takes twice as much for each such level above.
    """
    sizes = [LayerSizes.of(layer) for layer in layers]
    found: list[Amount] = []
    gathered = [1] * len(layers)
    for chosen in choices:
        amount = sum((s.within(kind) for s, kind in zip(sizes, chosen, strict=True)), start=Amount(0))
        for number in range(1, len(chosen)):
            before, after = chosen[number - 1], chosen[number]
            moved = between(before, after, sizes[number].input, "published" if convention == "published" else "table2")
            amount += moved * (gathered[number - 1] if convention == "physical" and before == "II" else 1)
        found.append(amount)
        gathered = [many * 2 if kind == "II" else many for many, kind in zip(gathered, chosen, strict=True)]
        sizes = [s.split(kind) for s, kind in zip(sizes, chosen, strict=True)]
    return found


@st.composite
def chains(draw: st.DrawFn, types: Sequence[BasicType], most: int = 4) -> tuple[list[Layer], Choices]:
    """Layers of any sizes, which need not fit each other, and types for up to `most` levels."""
    layers = draw(st.lists(LAYERS, min_size=1, max_size=most))
    row = st.tuples(*(st.sampled_from(types) for _ in layers))
    return layers, tuple(draw(st.lists(row, max_size=most)))
