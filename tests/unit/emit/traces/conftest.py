"""Each of the programs, compiled."""

import pytest

from npuc.compiler.driver.compile import Compilation
from tests.unit.emit.traces.programs import PROGRAMS, compiled


@pytest.fixture(params=PROGRAMS)
def result(request: pytest.FixtureRequest) -> Compilation:
    return compiled(request.param)
