"""
A command whose result may be in the store.

    command = Command(arguments, os.environ)
    status = command.replayed()             # None: it has to run
    status = command.run(run_command)       # and is kept, where it succeeds and depends on nothing that cannot be known

The key of a result is the code, the arguments, the working folder, the environment as far as anything reads it, and
what the streams are: a terminal, its width, an encoding. Under that key stand the names of the files that the command
read (`inputs`), and under the key with their content the result (`results`), so that no file has to be parsed. A name
that once was read as another one's import, and the same with other content, may lead to other files: a key has the last
few sets of names.
"""

from __future__ import annotations

import os
import sys

from npuc.compiler.core.cache.folder import BOUND, FOLDER, OFF, place

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from npuc.compiler.core.cache.reads import Reads
    from npuc.compiler.core.cache.store import Store
    from npuc.compiler.core.cache.streams import Transcript

REPORTED = frozenset(("compile", "explain", "check"))
"""The verbs whose results are kept: they take long, and write the same for the same input."""
STORED = frozenset((*REPORTED, "run", "sweep", "optimize", "training", "network", "opt", "study", "reproduce"))
"""The verbs that use the store, if only for schedules."""
VARIABLES = ("COLORTERM", "COLUMNS", "FORCE_COLOR", "HOME", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ")
FAMILIES = ("JUPYTER_", "LC_", "MKL_", "MPL", "NPUC_", "NPY_", "OMP_", "OPENBLAS_", "PYTHON", "RICH_", "TTY_", "XDG_")
"""The environment that npuc and what it is made of read: variables, and beginnings of their names."""
INPUTS, RESULTS = "inputs", "results"
SETS = 8
"""How many sets of files a key has."""
LEVEL = 1
"""How hard results are compressed: to write takes little, to read nothing."""


class Command:
    """A command line, and the store that it uses; None where it uses none."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]):
        self.arguments = list(arguments)
        self._environment = environment
        self._verb = self.arguments[0] if self.arguments else ""
        self._place = place(self.arguments, environment)
        self.store = self._opened() if self._verb in STORED else None
        self._head = self._key() if self.store is not None and self._verb in REPORTED else None

    def _opened(self) -> Store | None:
        if self._place.folder is None:
            return None
        try:
            from npuc.compiler.core.cache.code import code_digest
            from npuc.compiler.core.cache.store import Store

            return Store(self._place.folder, self._place.bound, code_digest())
        except (ImportError, OSError):
            return None  # a Python without sqlite, or a folder of npuc's that cannot be read

    def _key(self) -> bytes:
        """A digest of all that is known of the command before it runs."""
        from npuc.compiler.core.cache.frames import framed
        from npuc.compiler.core.cache.store import digest

        try:
            folder = os.getcwd()
        except OSError:
            folder = ""
        said = [
            f"{name}={value}"
            for name, value in sorted(self._environment.items())
            if (name in VARIABLES or name.startswith(FAMILIES)) and name not in (FOLDER, OFF, BOUND)
        ]
        texts = [self.arguments, [folder], said, [_stream(name) for name in ("stdin", "stdout", "stderr")]]
        return digest(*(framed(one.encode("utf-8", "surrogateescape") for one in part) for part in texts))

    def replayed(self) -> int | None:
        """Write the result that is in the store; returns the exit status, None where there is none."""
        if self.store is None or self._head is None:
            return None
        found = self._found(self.store, self._head)
        self.store.count(RESULTS, hit=found is not None)
        if found is None:
            return None
        from npuc.compiler.core.cache.replay import replay

        status = replay(found)
        if status is not None:
            self.store.close()
        return status

    def _found(self, store: Store, head: bytes) -> bytes | None:
        """The result for the files as they are."""
        from npuc.compiler.core.cache.frames import unframed
        from npuc.compiler.core.cache.reads import OTHER, state_of

        known: dict[str, bytes] = {}
        for names in _sets(store, head):
            for name in names:
                if name not in known:
                    known[name] = state_of(name)
            states = {name: known[name] for name in names}
            data = None if OTHER in states.values() else store.get(RESULTS, _full(head, states), counted=False)
            if data is not None:
                try:
                    (packed,) = unframed(data)
                except ValueError:
                    return None
                return packed
        return None

    def run(self, run: Callable[[list[str]], int]) -> int:
        """Run the command, and keep its result where that is possible; returns its exit status."""
        if self._place.complaint is not None and self._verb in STORED:
            print(f"npuc: warning: {self._place.complaint}", file=sys.stderr)
        if self.store is None:
            return run(self.arguments)
        from npuc.compiler.core.cache import searches

        before = searches.use(self.store)
        try:
            return self._run(run, self.store)
        finally:
            searches.use(before)
            self.store.close()
            problem = self.store.problem
            if problem is not None and self._place.named and "locked" not in problem:
                print(f"npuc: warning: nothing is kept in {self._place.folder}: {problem}", file=sys.stderr)

    def _run(self, run: Callable[[list[str]], int], store: Store) -> int:
        if self._head is None:
            return run(self.arguments)
        from npuc.compiler.core.cache.reads import Reads
        from npuc.compiler.core.cache.streams import Transcript, prepare_streams

        prepare_streams()
        with Reads() as reads, Transcript() as transcript:
            status = run(self.arguments)
        if status == 0:
            self._keep(reads, transcript, store, self._head)
        return status

    def _keep(self, reads: Reads, transcript: Transcript, store: Store, head: bytes) -> None:
        """Keep the result, if the same would come out again; nothing that fails here is told."""
        from zlib import compress

        from npuc.compiler.core.cache.code import code_digest
        from npuc.compiler.core.cache.frames import framed

        if transcript.refusal is not None or not reads.are_settled() or code_digest() != store.code:
            return
        packed = compress(framed(transcript.parts()), LEVEL)
        names = sorted(reads.files)
        sets = [names, *(one for one in _sets(store, head) if one != names)][:SETS]
        store.put(INPUTS, head, framed(framed(name.encode("utf-8", "surrogateescape") for name in one) for one in sets))
        store.put(RESULTS, _full(head, {name: reads.files[name] for name in names}), framed([packed]))


def _sets(store: Store, head: bytes) -> list[list[str]]:
    """The sets of files that a command has read so far, the last one first."""
    from npuc.compiler.core.cache.frames import unframed

    data = store.get(INPUTS, head, counted=False)
    try:
        sets = [] if data is None else [unframed(one) for one in unframed(data)]
    except ValueError:
        return []
    return [[name.decode("utf-8", "surrogateescape") for name in one] for one in sets]


def _full(head: bytes, states: Mapping[str, bytes]) -> bytes:
    """The key of a result: of the command, and of its files with their states."""
    from npuc.compiler.core.cache.store import digest

    named = (part for name, state in states.items() for part in (name.encode("utf-8", "surrogateescape"), state))
    return digest(head, *named)


def _stream(name: str) -> str:
    """What a standard stream is, as far as what is written there depends on it."""
    stream = getattr(sys, name)
    if stream is None:
        return "closed"
    try:
        terminal = stream.isatty()
        size = tuple(os.get_terminal_size(stream.fileno())) if terminal else ()
    except (OSError, ValueError):
        terminal, size = False, ()
    return f"{terminal} {size} {getattr(stream, 'encoding', '')} {getattr(stream, 'newlines', '')}"
