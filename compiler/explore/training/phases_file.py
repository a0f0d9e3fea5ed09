"""
Phases of a training from a TOML file.

    samples_per_epoch = 1_281_167          # or steps_per_epoch
    epochs = 90                            # of all phases together, checked (or steps)

    [[programs]]                           # what differs from the program of the call, by keywords of `compile_file`
    name = "low"
    precision = "bf16"

    [[phases]]
    name = "warm-up"
    epochs = 10                            # the next ten; or a span [0, 10], from 0; or steps
    program = "low"                        # or mix = { low = 4, step = 1 }; without both `step`, the call's program

The first thing wrong is a `UsageError` with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

from npuc.compiler.core.arguments import keywords_of
from npuc.compiler.core.errors import Location, NpucError, UsageError, did_you_mean
from npuc.compiler.core.files.texts import text_of_file
from npuc.compiler.core.files.toml import read_toml
from npuc.compiler.core.kinds import Integer, WrongValue, show
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.options import check_options
from npuc.compiler.explore.training.phases import STEP, UNITS, Phase, PhaseProgram, Training, Unit
from npuc.hardware.readers.toml_places import find_in_entry, find_key

PHASES = Path(__file__).parents[3] / "samples" / "phases"
WHAT = "file of phases"
SAMPLES = "samples:"
TOP = ("samples_per_epoch", "steps_per_epoch", *UNITS, "programs", "phases")
PHASE = ("name", *UNITS, "program", "mix")
SAME = ("hardware", "load", "only", "max_ops", "verify_each", "print_after", "print_changed", "time_passes")
"""Keywords of a compilation that are those of the call for all programs of a training."""
OF_PROGRAMS = tuple(name for name in CompileKeywords.__annotations__ if name not in SAME)
COUNT = Integer(1, 1 << 40)


@cache
def phases_names() -> tuple[str, ...]:
    """The phases that ship with npuc, sorted."""
    return tuple(sorted(path.stem for path in PHASES.glob("*.toml")))


def read_phases(name: str) -> Training:
    """The training in a file, or one that ships under a name. Raises `UsageError`."""
    path = PHASES / f"{name}.toml" if name in phases_names() else Path(name)
    if path.suffix != ".toml":
        hint = did_you_mean(name, phases_names())
        raise UsageError(f"unknown phases '{name}', expected a name (npuc list phases) or a .toml file", hint=hint)
    return parse_phases(text_of_file(path, name, WHAT), name, path.parent)


def first_comment(name: str) -> str:
    """What phases that ship say of themselves in their first line."""
    return (PHASES / f"{name}.toml").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def parse_phases(text: str, name: str, folder: Path | None = None) -> Training:
    """
    The training that a text describes; `name` is that of its file, and `folder` where sources are. Raises `UsageError`.
    """
    return _Reader(text, name, Path(name).parent if folder is None else folder).training()


@dataclass(frozen=True)
class _Reader:
    text: str
    name: str
    folder: Path

    def training(self) -> Training:
        data = cast("Mapping[str, Any]", read_toml(self.text, self.name))
        for key in data:
            if key not in TOP:
                self._wrong(f"unknown key '{key}'", hint=did_you_mean(key, TOP), key=key)
        programs = tuple(self._program(n, one) for n, one in enumerate(self._rows(data, "programs")))
        self._check_names(programs)
        phases: list[Phase] = []
        for number, row in enumerate(self._rows(data, "phases")):
            phases.append(self._phase(number, row, phases))
        if not phases:
            raise UsageError(f"{self.name}: a {WHAT} has phases ([[phases]]); this has none")
        found = Training(
            self.name,
            programs,
            tuple(phases),
            self._count(data, "samples_per_epoch"),
            self._count(data, "steps_per_epoch"),
        )
        self._check_whole(found, data)
        return found

    def _rows(self, data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        rows = data.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[object]", rows)):
            self._wrong(f"{key}: expected tables [[{key}]], got {show(cast('object', rows))}", key=key)
        return cast("list[Mapping[str, Any]]", rows)

    def _program(self, number: int, row: Mapping[str, Any]) -> PhaseProgram:
        name = self._name(row, "programs", number)
        if name is None:
            self._wrong("a program has a name", row=("programs", number), hint='name = "low"')
        if name == STEP:
            self._wrong(f"'{STEP}' is the program of the call", row=("programs", number), key="name")
        options = {key: value for key, value in row.items() if key not in ("name", "source")}
        for key in options:
            if key not in OF_PROGRAMS:
                same = key in SAME
                message = f"{key} is that of the call for all programs" if same else f"unknown key '{key}'"
                hint = None if same else did_you_mean(key, ("name", "source", *OF_PROGRAMS))
                self._wrong(message, row=("programs", number), key=key, hint=hint)
        for key, value in options.items():
            self._check_option(number, key, value)
        return PhaseProgram(name, options, self._source(number, row))

    def _source(self, number: int, row: Mapping[str, Any]) -> str | None:
        """The source of a program, a sample or a file beside that of the phases; None: that of the call."""
        source = row.get("source")
        if source is None:
            return None
        if not isinstance(source, str):
            self._wrong(f"source: expected a file, got {show(source)}", row=("programs", number), key="source")
        if source.startswith(SAMPLES):
            return source
        found = (self.folder / source).as_posix()
        if not Path(found).is_file():
            self._wrong(f"source: there is no file {found}", row=("programs", number), key="source")
        return found

    def _check_option(self, number: int, key: str, value: object) -> None:
        """That a keyword has a value that it may have, apart from the others."""
        own = cast("CompileKeywords", {key: value})
        try:
            keywords_of(own, CompileKeywords)
            if key not in ("chunks", "convention", "exact_plan", "zero", "collectives", "plan_objective", "parallel"):
                check_options(own)  # those of several devices mean nothing alone
        except TypeError as e:
            self._wrong(str(e), row=("programs", number), key=key)
        except NpucError as e:
            self._wrong(e.message, row=("programs", number), key=key, hint=e.hint)

    def _check_names(self, programs: tuple[PhaseProgram, ...]) -> None:
        seen: set[str] = set()
        for number, program in enumerate(programs):
            if program.name in seen:
                self._wrong(f"there are two programs '{program.name}'", row=("programs", number), key="name")
            seen.add(program.name)

    def _phase(self, number: int, row: Mapping[str, Any], before: list[Phase]) -> Phase:
        at = ("phases", number)
        for key in row:
            if key not in PHASE:
                self._wrong(f"unknown key '{key}'", row=at, key=key, hint=did_you_mean(key, PHASE))
        units: list[Unit] = [unit for unit in UNITS if unit in row]
        if len(units) != 1:
            has = "both epochs and steps" if units else "neither epochs nor steps"
            self._wrong(f"a phase has epochs or steps; this has {has}", row=at, hint="epochs = 10, or steps = 1000")
        unit = units[0]
        if before and before[0].unit != unit:
            self._wrong(f"found {unit}, expected {before[0].unit} as in the phases before", row=at, key=unit)
        position = before[-1].end if before else 0
        first, end = self._span(at, unit, row[unit], position)
        if first > position:
            self._wrong(f"{_span_text(unit, position, first)} in no phase", row=at, key=unit)
        if first < position:
            other = next(one for one in before if first < one.end)
            shared = _span_text(unit, first, min(end, other.end))
            self._wrong(f"{shared} in the phase '{other.name}', too", row=at, key=unit)
        name = self._name(row, "phases", number) or f"phase {number + 1}"
        return Phase(name, unit, first, end, self._mix(at, row))

    def _span(self, at: tuple[str, int], unit: Unit, value: object, position: int) -> tuple[int, int]:
        """The first of a phase and its end."""
        numbers = cast("list[object]", value) if isinstance(value, list) else [value]
        try:
            if not isinstance(value, list):
                return position, position + int(COUNT.read(value))
            if len(numbers) != 2:
                raise WrongValue(f"expected a number or a span [first, end], got {show(numbers)}")
            first, end = int(Integer(0, COUNT.most).read(numbers[0])), int(COUNT.read(numbers[1]))
        except WrongValue as e:
            self._wrong(f"{unit}: {e}", row=at, key=unit)
        if first >= end:
            self._wrong(f"{unit}: found the span [{first}, {end}], expected an end above its first", row=at, key=unit)
        return first, end

    def _mix(self, at: tuple[str, int], row: Mapping[str, Any]) -> Mapping[str, int]:
        """How many steps in turn of which program."""
        if "mix" not in row:
            program = row.get("program", STEP)
            if not isinstance(program, str):
                self._wrong(f"program: expected a name, got {show(cast('object', program))}", row=at, key="program")
            return {program: 1}
        if "program" in row:
            self._wrong("a phase has a program or a mix, not both", row=at, key="mix")
        mix = row["mix"]
        if not isinstance(mix, dict) or not mix:
            self._wrong(
                f"mix: expected programs with steps, got {show(cast('object', mix))}",
                row=at,
                key="mix",
                hint="mix = { low = 4, step = 1 }",
            )
        found: dict[str, int] = {}
        for name, share in cast("Mapping[str, object]", mix).items():
            try:
                found[name] = int(COUNT.read(share))
            except WrongValue as e:
                self._wrong(f"mix, {name}: {e}", row=at, key="mix")
        return found

    def _check_whole(self, found: Training, data: Mapping[str, Any]) -> None:
        """That programs are known and used, epochs have a length, and the phases as many epochs or steps as said."""
        known = (STEP, *(one.name for one in found.programs))
        for number, phase in enumerate(found.phases):
            for name in phase.mix:
                if name not in known:
                    key = "mix" if "mix" in data["phases"][number] else "program"
                    hint = did_you_mean(name, known)
                    self._wrong(f"unknown program '{name}'", row=("phases", number), key=key, hint=hint)
        for number, program in enumerate(found.programs):
            if program.name not in found.used:
                self._wrong(f"no phase runs the program '{program.name}'", row=("programs", number), key="name")
        if found.samples_per_epoch is not None and found.steps_per_epoch is not None:
            self._wrong("found steps_per_epoch beside samples_per_epoch, expected one of them", key="steps_per_epoch")
        unit, end = found.phases[-1].unit, found.phases[-1].end
        epoch = found.samples_per_epoch or found.steps_per_epoch
        if unit == "epochs" and epoch is None:
            hint = "samples_per_epoch = 1281167, or steps_per_epoch = 5005"
            self._wrong("an epoch has no length", row=("phases", 0), key="epochs", hint=hint)
        for known_unit in UNITS:
            asked = self._count(data, known_unit)
            if asked is not None and known_unit != unit:
                self._wrong(f"found {known_unit}, expected {unit} as in the phases", key=known_unit)
            if asked is not None and asked != end:
                rest = _span_text(unit, end, asked) if asked > end else _span_text(unit, asked, end)
                where = "in no phase" if asked > end else f"in phases, of {asked:,}"
                self._wrong(f"{rest} {where}", key=known_unit)

    def _count(self, data: Mapping[str, Any], key: str) -> int | None:
        if key not in data:
            return None
        try:
            return int(COUNT.read(data[key]))
        except WrongValue as e:
            self._wrong(f"{key}: {e}", key=key)

    def _name(self, row: Mapping[str, Any], table: str, number: int) -> str | None:
        name = row.get("name")
        if name is not None and (not isinstance(name, str) or not name.strip()):
            self._wrong(f"name: expected a name, got {show(cast('object', name))}", row=(table, number), key="name")
        return name

    def _wrong(
        self, message: str, *, key: str | None = None, row: tuple[str, int] | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise an error at a key of the file, or of a row of a list of tables there."""
        if row is not None:
            place = find_in_entry(self.text, row[0], row[1], key) or find_key(self.text, row[0])
        else:
            place = find_key(self.text, key) if key is not None else None
        raise self._at(message, place, hint)

    def _at(self, message: str, place: tuple[int, int] | None, hint: str | None = None) -> UsageError:
        if place is None:
            return UsageError(f"{self.name}: {message}", hint=hint)
        line = self.text.split("\n")[place[0] - 1]
        return UsageError(message, location=Location(self.name, *place), hint=hint, source_line=line)


def _span_text(unit: Unit, first: int, end: int) -> str:
    """The subject of a sentence on what is first to below end."""
    return f"{unit.removesuffix('s')} {first} is" if end == first + 1 else f"{unit} {first} to {end - 1} are"
