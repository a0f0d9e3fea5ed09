"""A study of interleaved gradients that takes a moment: one network, and few settings."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from npuc.studies.igo import networks, settings


@contextmanager
def short_study(shown: Sequence[settings.Setting]) -> Generator[None]:
    """The study has these settings and the network ncf alone, and no other test sees networks of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "SETTINGS", tuple(shown))
        patch.setattr(networks, "MODELS", {"ncf": "ncf"})
        networks.study_networks.cache_clear()
        yield
    networks.study_networks.cache_clear()
