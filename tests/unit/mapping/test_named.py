"""Named mappings are those of the files that MAESTRO ships; names that are not known say so."""

from pathlib import Path

import pytest

from npuc.compiler.analysis.mapping.named.directives import mapping_for
from npuc.compiler.analysis.mapping.named.templates import ALIASES, TEMPLATES, mapping_names, template_named
from npuc.compiler.core.errors import UsageError
from npuc.dialects.mapping import Map, Mapping
from npuc.frontends.maestro import MappedLayer, read_mapping_file

SHIPPED = Path(__file__).parents[2] / "oracle" / "data" / "maestro" / "mappings" / "maestro"

# By file: the name, and how many of its right layers are mapped otherwise than the name has it, and why.
FILES = {
    "GEMM_Example": ("nmk", 0),
    "gnmt_nmk": ("nmk", 0),
    "ncf_nmk": ("nmk", 0),
    "MobileNetV2_kcp_ws": ("kcp_ws", 0),
    "ResNeXt50_kcp_ws": ("kcp_ws", 0),
    "Resnet50_kcp_ws": ("kcp_ws", 0),
    "googlenet_kcp_ws": ("kcp_ws", 0),
    "mnasnet_kcp_ws": ("kcp_ws", 0),
    "squeezenet1_0_kcp_ws": ("kcp_ws", 0),
    "vgg16_ckp_ws": ("ckp_ws", 0),
    "MobileNetV2_xp_ws": ("xp_ws", 0),
    "ResNeXt50_xp_ws": ("xp_ws", 0),
    "Resnet50_xp_ws": ("xp_ws", 0),
    "UNet_xp_ws": ("xp_ws", 0),
    "googlenet_xp_ws": ("xp_ws", 0),
    "squeezenet1_0_xp_ws": ("xp_ws", 0),
    "vgg16_xp_ws": ("xp_ws", 0),
    "mnasnet_xp_ws": ("xp_ws", 17),  # depthwise layers: over channels instead
    "MobileNetV2_yxp_os": ("yxp_os", 7),  # the filter in the level above
    "ResNeXt50_yxp_os": ("yxp_os", 5),  # without groups; tiles that overlap
    "Resnet50_yxp_os": ("yxp_os", 1),  # tiles that overlap
    "UNet_yxp_os": ("yxp_os", 1),  # tiles that overlap
    "vgg16_yxp_os": ("yxp_os", 1),  # the filter in both levels
    "googlenet_ykp_os": ("ykp_os", 0),
    "mnasnet_ykp_os": ("ykp_os", 0),
    "squeezenet1_0_ykp_os": ("ykp_os", 0),
    "googlenet_rs": ("rs", 0),
    "squeezenet1_0_rs": ("rs", 0),
    "mnasnet_rs": ("rs", 17),  # depthwise layers: over channels instead
    "ResNeXt50_nlr": ("nlr", 0),
    "Resnet50_nlr": ("nlr", 1),  # a depthwise layer with a map of K
    "UNet_nlr": ("nlr", 0),
    "vgg16_nlr": ("nlr", 0),
}


def numbers(mapping: Mapping) -> list[object]:
    """The directives with their sizes in elements."""
    return [
        (one.dim, mapping.extent(one.size), mapping.extent(one.offset), one.spatial)
        if isinstance(one, Map)
        else mapping.extent(one.size)
        for one in mapping.directives
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("stem", FILES)
def test_names_are_the_shipped_files(stem: str) -> None:
    name, others = FILES[stem]
    file = read_mapping_file((SHIPPED / f"{stem}.m").read_text(encoding="utf-8"), f"{stem}.m")
    right = [layer.mapping for layer in file.layers if isinstance(layer, MappedLayer)]
    template = template_named(name)
    differing = [m for m in right if numbers(mapping_for(template, m.problem, 4096)) != numbers(m)]
    assert len(differing) == others
    assert len(right) > others


def test_clusters_are_no_larger_than_the_machine() -> None:
    file = read_mapping_file((SHIPPED / "vgg16_ckp_ws.m").read_text(encoding="utf-8"), "f.m")
    layer = file.layers[0].checked()
    assert mapping_for(template_named("kcp_ws"), layer.mapping.problem, 16).clusters == (16,)
    assert mapping_for(template_named("rs"), layer.mapping.problem, 2).clusters == (2,)


def test_every_name_is_found() -> None:
    assert mapping_names() == sorted([*(template.name for template in TEMPLATES), *ALIASES])
    for name in mapping_names():
        assert template_named(name) in TEMPLATES
    assert template_named("Eyeriss").name == "rs"


def test_an_unknown_name_has_a_hint() -> None:
    with pytest.raises(UsageError, match="unknown mapping 'kcp_w'") as caught:
        template_named("kcp_w")
    assert caught.value.hint == "did you mean 'kcp_ws'?"
