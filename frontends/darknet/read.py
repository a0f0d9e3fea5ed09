"""A `.cfg` file of darknet as a program."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.builder import function_name
from npuc.compiler.core.errors import SourceError, SourceErrors, did_you_mean
from npuc.frontends.base import Program, Request, Source
from npuc.frontends.darknet.cfg import CfgFile, Section, parse_cfg
from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import REFUSED, meanings
from npuc.frontends.darknet.network import SIZES, Net, net_of, sizes_of
from npuc.frontends.script.freeze import Frozen
from npuc.frontends.script.script import Script
from npuc.frontends.script.training import Wanted, complete
from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Definition, Name
    from npuc.frontends.script.text.sizes import FreeSize

_SHORT = {"convolutional": "conv", "deconvolutional": "deconv", "connected": "fc", "normalization": "lrn"}
MAX_LAYERS = 10_000
_NUMBER = re.compile(r"[a-z_]+(\d+)")


def read_cfg(source: Source, request: Request) -> Program:
    """The program of a file, with the step that is asked for. Raises `SourceError`s with places, `UsageError`."""
    file = parse_cfg(source.text, source.filename, min(MAX_LAYERS, request.max_ops))
    _check_known(file)
    script, remarks = _network(file, source.filename, request)
    module = script.finish()

    def text() -> str:
        """The network as text."""
        from npuc.frontends.script.text import network_text

        script.frozen.check()
        return network_text(script.definition, {}, _free_sizes(file, source.filename, request))

    return Program(module, tuple(remarks), {}, script.unneeded(module), (), text)


class SizesOfCfg:
    """The sizes that [net] has: the batch, and of images height and width."""

    def __init__(self, source: Source):
        file = parse_cfg(source.text, source.filename, MAX_LAYERS)
        net = net_of(file.net, {})
        self.names: tuple[str, ...] = SIZES[:1] if net.inputs else SIZES
        self.texts: tuple[tuple[str, str], ...] = ((source.filename, source.text),)

    def check(self, defines: Mapping[str, Any]) -> None:
        """Raise `UsageError` for names and values that the network refuses."""
        sizes_of(defines, self.names)


def _check_known(file: CfgFile) -> None:
    """Raise an error that names all sections without a meaning, at their places."""
    problems: list[SourceError] = []
    for section in file.layers:
        if section.word in meanings():
            continue
        reason = REFUSED.get(section.word)
        if reason is not None:
            problems.append(section.error(f"has no counterpart in the language: {reason}"))
        else:
            problems.append(section.error("found no section of darknet", did_you_mean(section.word, list(meanings()))))
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SourceErrors(problems[:20])


def _network(file: CfgFile, filename: str, request: Request) -> tuple[Script, list[str]]:
    """A file as a script, with the training step that is asked for and remarks on it."""
    names = SIZES[:1] if net_of(file.net, {}).inputs else SIZES
    net = net_of(file.net, sizes_of(request.defines, names))
    frozen, stop = Frozen(request.freeze), _stop(file)

    def is_frozen(name: str) -> bool:
        found = _NUMBER.match(name)
        return frozen.matches(name) or (found is not None and int(found.group(1)) <= stop)

    name = function_name(os.path.splitext(os.path.basename(filename))[0], "network")
    script = Script(name, filename, training=not request.inference, max_ops=request.max_ops, is_frozen=is_frozen)
    outputs = _outputs(file, _layers(file, net, script), training=not request.inference, request=request)
    losses, remarks = request.losses, [*file.remarks, *net.remarks, *_unused(file)]
    if not losses and len(outputs) > 1 and not request.inference and not request.results:
        losses = ("mse",) * len(outputs)
        remarks.append(f"the losses are mse of each output, {', '.join(outputs)}; --loss chooses others")
    optimizer = request.optimizer or net.optimizer
    remarks += complete(script, outputs, Wanted(request.results, losses, optimizer))
    frozen.check()
    return script, remarks


def _stop(file: CfgFile) -> int:
    """The last layer with `stopbackward`: darknet trains neither it nor any before it. -1 where there is none."""
    return max((s.number for s in file.layers if s.flag("stopbackward")), default=-1)


def _layers(file: CfgFile, net: Net, script: Script) -> list[DarknetValue]:
    """Write all layers; what each made."""
    with script.node(file.net.at.line):
        x = script.input("x", "f32", net.shape)
    made: list[DarknetValue] = []
    for section in file.layers:
        layer = f"{_SHORT.get(section.word, section.word)}{section.number}"
        if made and made[-1].is_head and section.word not in ("route", "cost", *_HEADS):
            raise section.error("found a head above it, whose values no layer reads", "begin with [route]")
        with script.node(section.at.line):
            context = DarknetLayer(script, section, layer, x, made)
            try:
                made.append(meanings()[section.word](context))
            except Refused as refusal:
                raise section.error(refusal.message, refusal.hint) from None
            except SourceErrors:
                raise
            except SourceError as error:
                raise error if error.source_line is not None else section.error(error.message, error.hint) from None
        x = made[-1].value
    return made


_HEADS = ("yolo", "gaussian_yolo", "region", "detection")


def _outputs(file: CfgFile, made: list[DarknetValue], *, training: bool, request: Request) -> dict[str, Name]:
    """The heads of a network, or without any its last value; in training the logits of a softmax that it ends in."""
    found: dict[str, Name] = {}
    for section, one in zip(file.layers, made, strict=True):
        if one.is_head:
            found[f"{section.word}{section.number}"] = one.value
    if found:
        return found
    last = next(one for one in reversed(made) if one.value.text == made[-1].value.text)
    logits = next((one.logits for one in made if one.value.text == last.value.text and one.logits is not None), None)
    by_entropy = all(text.partition("(")[0].strip() == "cross_entropy" for text in request.losses)
    return {"output": logits if training and logits is not None and by_entropy else last.value}


def _unused(file: CfgFile) -> list[str]:
    """Remarks on options that nothing has read."""
    found: dict[str, list[Section]] = {}
    for section in (file.net, *file.layers):
        for name in section.unread():
            found.setdefault(f"'{name}' of [{section.word}]", []).append(section)
    said: list[str] = []
    for what, sections in found.items():
        name = what.split("'")[1]
        more = f", and {len(sections) - 1} more" if len(sections) > 1 else ""
        at = sections[0].source.location(sections[0].options[name].at)
        said.append(f"{at}: {what} has no effect{more}")
    return said[:20]


def _free_sizes(file: CfgFile, filename: str, request: Request) -> list[FreeSize]:
    """The sizes that may be parameters of the network's text."""
    from npuc.frontends.script.text.sizes import FreeSize

    names = SIZES[:1] if net_of(file.net, {}).inputs else SIZES
    net = net_of(file.net, sizes_of(request.defines, names))
    now = {"batch": net.batch, "height": net.height, "width": net.width}

    def at(name: str, value: int) -> Definition | None:
        """The network with another size; None where that is none."""
        try:
            return _network(file, filename, replace(request, defines={**request.defines, name: value}))[0].definition
        except (SourceError, SourceErrors):
            return None

    return [FreeSize(name, now[name], (2 * now[name], 3 * now[name]), partial(at, name)) for name in names]
