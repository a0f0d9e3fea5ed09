"""xDSL's opt tool with npuc's dialects and passes, and with npuc's errors."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from io import BytesIO
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException
from xdsl.xdsl_opt_main import xDSLOptMain

from npuc.backends.base import DEFAULT as BACKEND
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.machine.facts import TARGET
from npuc.compiler.cli.groups import collected
from npuc.compiler.cli.opt.arguments import EMITTED, add_groups, arrange_help, group_of
from npuc.compiler.cli.opt.kept import KeptOutput
from npuc.compiler.cli.opt.passes import check_together, passes_of
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Program
from npuc.compiler.cli.progress import stages, warnings_shown
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import NpucError, SourceError, UsageError, either
from npuc.compiler.core.files.outputs import write_file
from npuc.compiler.core.files.texts import decoded
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.options import SHOWN_CHANGES, Options
from npuc.compiler.core.selection import keep_layers
from npuc.compiler.core.stages import tell
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.compiler.driver.devices import stamp_machine_units, without_loss
from npuc.compiler.driver.levels.primitives import as_primitives
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.passes import (
    available_passes,
    names_in,
    own_passes,
    read_pipeline,
    run_pipeline,
    write_pipeline,
)
from npuc.compiler.driver.read import check_step, read_program, texts_of
from npuc.compiler.driver.unread import unread_in_target, warnings_of
from npuc.compiler.driver.watch.asked import asked_watchers, check_shown
from npuc.compiler.driver.watch.changes import Changes
from npuc.compiler.driver.watch.times import Times
from npuc.compiler.driver.watch.unchanged import Unchanged
from npuc.compiler.driver.watch.watcher import Watcher, Watchers
from npuc.compiler.emit.base import DEFAULT, Drawing, Translation, check_depth, get_drawing, get_emitter
from npuc.dialects import get_all_dialects
from npuc.dialects.train.signature import has_loss, training_functions
from npuc.frontends.files import read_bytes
from npuc.frontends.mlir import check_text, parse_part
from npuc.frontends.registry import frontend_names, get_frontend
from npuc.frontends.source import Source, open_source, text_source
from npuc.hardware import load_hardware

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.report import Report


class OptTool(xDSLOptMain):
    """
    The tool; `load` names files with passes of one's own.

    npuc's dialects and passes are there whether or not its entry points are installed.
    """

    def __init__(self, arguments: Sequence[str], load: Sequence[str] = ()):
        self.load, self.arguments = load, arguments
        self.sources = SourceTexts({})
        self.source: Source | None = None
        self.watch: Watcher = Watcher()
        self._written: KeptOutput | None = None
        super().__init__("xDSL's opt tool with npuc's dialects and passes", arguments)

    def register_all_dialects(self) -> None:
        """Register xDSL's dialects and npuc's."""
        super().register_all_dialects()
        known = set(self.ctx.registered_dialect_names)
        for name, factory in get_all_dialects().items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Register xDSL's passes, npuc's, and those of the loaded files."""
        super().register_all_passes()
        for name, factory in available_passes(self.load).items():
            self.register_pass(name, factory)

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        """Parse a part of the input; of IR, after a look at its strings, with the place of each operation."""
        if self.source is not None:
            return self._with_machine(self._read(self.source))
        data, name = chunk.read(), self.get_input_name()
        text = decoded(data, name)
        self.sources = SourceTexts({name: "\n" * start_offset + text})
        for define in self.args.define or ():
            raise UsageError(f"-D {define}: IR has no parameters")
        check_step(get_frontend("mlir"), self._options())
        check_text(text, name)
        implicit = not self.args.no_implicit_module
        module = parse_part(self.ctx, text, name, before=start_offset, implicit_module=implicit)
        if self.args.inference:
            without_loss(module)
        return self._with_machine(module)

    def _read(self, source: Source) -> ModuleOp:
        """The program of a source that is not IR."""
        self.sources, remarks = texts_of(source), list[str]()
        module = read_program(source, self._options(), self.sources, remarks)
        for remark in remarks:
            self._warn(remark)
        return module

    def _warn(self, text: str) -> None:
        if not self.args.quiet:
            _tell(f"npuc: warning: {text}")

    def _options(self) -> Options:
        """The options of the groups. Raises `UsageError` for those that mean nothing together."""
        args = self.args
        groups = group_of(args, Program, source=""), group_of(args, Machine), group_of(args, Optimisation)
        found: CompileKeywords = {**collected(*groups), **group_of(args, Devices).shared(), "load": list(self.load)}
        found.pop("only", None)  # of what is written, not of what passes do
        return options_of(found)

    def _with_machine(self, module: ModuleOp) -> ModuleOp:
        """The module with the facts of the machine that is asked for, which passes read; as it is without one."""
        options = self._options()
        if options.inference is False and not any(map(has_loss, training_functions(module))):
            raise UsageError("there is no loss, so there is nothing to train", hint="add a loss to the network")
        if options.hardware is None and not options.overrides:
            return module
        model = get_backend(BACKEND)
        machine = load_hardware(options.hardware or model.default_hardware, options.overrides)
        for warning in warnings_of(unread_in_target(options.overrides)):
            self._warn(warning)
        stamp_target(module, machine, model.name, scheduled=False)
        if not stamp_machine_units(module, machine) and TARGET not in module.attributes:
            stamp_target(module, machine, model.name)  # says which key is missing
        return module

    def setup_pipeline(self) -> None:
        """Read the pipeline with npuc's messages, and keep what the tool does between passes, after npuc's verifier."""
        text = self.args.passes
        passes = names_in(text)
        if passes or not text.strip():  # what does not parse is told of below
            check_together(self.args, self._options(), passes, is_network=self._is_network)
        self.args.passes = ""  # xDSL's reader of it is not npuc's
        super().setup_pipeline()
        usual = self.pipeline.callback
        self.args.passes = text

        def between(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
            # Whoever asks for the tool's own diagnostics gets them.
            if not (self.args.disable_verify or self.args.verify_diagnostics):
                verify_module(module, self.sources, after=None if previous is None else previous.name)
            if previous is not None:
                self.watch.after(previous, module)
            if usual is not None:
                usual(previous, module, following)
            if following is not None:
                tell(following.name)
                self.watch.before(following, module)

        self.pipeline = PassPipeline(tuple(read_pipeline(text, self.available_passes)), between)

    @property
    def _is_network(self) -> bool:
        """Whether the input is no IR."""
        name, format = self.args.input_file, self.args.frontend
        return format != "mlir" if format is not None else name is not None and not name.endswith(".mlir")

    def apply_passes(self, prog: ModuleOp) -> None:
        """
        Run the pipeline, whose pass is shown if it takes long; what a pass raises that is no message of xDSL's becomes
        one of npuc's.
        """
        options, quiet, told = self._options(), self.args.quiet, self.watch
        asked = passes_of(prog, options, self.source, self.pipeline.passes, self.available_passes)
        check_shown(options.print_after, asked.passes)
        if asked.said and not quiet:
            _tell(f"npuc: passes: {write_pipeline(asked.passes)}")
        if options.print_after is not None:
            self.watch = Watchers([told, *asked_watchers(Options(print_after=options.print_after), prog, _tell)])
        self.watch.plan(list(asked.passes))
        # What is printed between passes and the stage would be in each other's way.
        prints = self.args.print_between_passes or self.args.time_passes
        quoted, translated = self.sources.quoted(), Foreign(_translate)
        with quoted, translated, stages(quiet=prints or quiet), warnings_shown(quiet=quiet):
            if options.opt_level is None:
                self.pipeline = PassPipeline(tuple(asked.passes), self.pipeline.callback)
                super().apply_passes(prog)
            else:
                each, told_of = not self.args.disable_verify, asked.told_of
                passes, watch = asked.passes, self.watch
                run_pipeline(prog, passes, self.ctx, self.sources, verify_each=each, watch=watch, told_of=told_of)
        self.watch = told

    def register_all_frontends(self) -> None:
        """Besides IR, all formats are read that `npuc compile` reads."""
        super().register_all_frontends()
        for name in frontend_names():
            self.available_frontends.setdefault(name, lambda stream: ModuleOp([]))  # see `_read`

    def run(self) -> None:
        """Run the tool, with what watches its passes."""
        asked = group_of(self.args, Optimisation)
        if asked.print_changed not in (None, *SHOWN_CHANGES):
            raise UsageError(f"--print-changed {asked.print_changed}: expected {either(SHOWN_CHANGES)}")
        with watching(asked) as watchers:
            more: list[Watcher] = [Times(_tell)] if asked.time_passes else []
            changes = Changes(_tell, lines=asked.print_changed == "diff")  # which tells what changed nothing, too
            if asked.print_changed is not None:
                more.insert(0, changes)
            elif asked.opt_level is None:  # what passes of -O have nothing to do for is no news
                more.insert(0, Unchanged())
            self.watch = Watchers([*watchers, *more])
            self.args.time_passes = False  # told by the watcher
            super().run()
            self.watch.finish()
        if self._written is not None:
            write_file(self._written.name, self._written.text.encode("utf-8"))

    def prepare_output(self) -> IO[str]:
        """Where the program goes: a file is written when all has gone well, whole."""
        name = self.args.output_file
        self._written = None if name in (None, "-") else KeptOutput(name)
        return sys.stdout if self._written is None else self._written

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        """The tool's options, under npuc's name."""
        arg_parser.prog = "npuc opt"
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument("--emit", metavar=EMITTED, default=DEFAULT, help="IR, the graph, or MLIR for others")
        arg_parser.add_argument("--depth", metavar="auto|ops|layers|N", help="what --emit dot and svg draw as one")
        add_groups(arg_parser)
        own = sorted({*own_passes(), *available_passes(self.load)})
        arrange_help(arg_parser, self.arguments, own, sorted({*self.available_passes} - {*own}))

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The program, or those layers of it, as IR or as a graph."""
        emitter = None if self.args.emit == DEFAULT else get_emitter(self.args.emit)
        check_depth(self.args.depth, drawn=isinstance(emitter, Drawing))
        if self.args.only:
            keep_layers(prog, self.args.only)
        if emitter is None:
            return super().output_resulting_program(prog)
        if isinstance(emitter, Translation):
            return emitter.write(as_primitives(prog, self.sources))
        from npuc.compiler.graph import build, depth_of

        return get_drawing(self.args.emit).draw(build(prog, _costs(prog), depth_of(self.args.depth)))

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        """The input in parts. Raises `UsageError` for a suffix that is not read."""
        name, format = self.args.input_file, self.args.frontend
        if format is None and name is not None:
            opened = open_source(name)
            # IR of StableHLO is IR here; --frontend jax reads the program in it
            format = opened.frontend.name if self._is_network else "mlir"
        else:
            opened = None
        if format in (None, "mlir"):
            return super().prepare_input()
        if opened is None:
            data = sys.stdin.buffer.read() if name in (None, "-") else read_bytes(name)
            opened = text_source(data, format, self.get_input_name())
        self.source = opened
        return [(BytesIO(), 0)], format


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _costs(module: ModuleOp) -> Report | None:
    """What a scheduled program costs on the machine that it names; None of any other program."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.driver.machine import machine_in
    from npuc.compiler.driver.watch.cost_trace import report_of

    machine = machine_in(module)
    return None if machine is None else report_of(module, get_backend("cycle"), machine)


def _translate(error: BaseException) -> NpucError:
    """What a pass raises other than a message, which is raised as it is, as the failure of a pass."""
    if isinstance(error, DiagnosticException):
        raise error
    return SourceError(f"a pass of the pipeline failed: {summary(error)}", hint="npuc opt --debug shows where")
