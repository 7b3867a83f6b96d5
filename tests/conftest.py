# SPDX-License-Identifier: Apache-2.0
"""Gives each test a user's cache of its own: what runs keep of nodes must not decide other tests."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Open MPI looks for these networks, which test machines lack, for a second at each start.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")
os.environ.setdefault("OMPI_MCA_mtl", "^ofi,psm,psm2")


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Returns new paths for caches; a run makes the folder when it keeps something."""
    root = tmp_path_factory.mktemp("caches")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(scope="session", autouse=True)
def _cache_of_fixtures(caches: Iterator[Path]) -> Iterator[None]:
    """Serves fixtures of modules and sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(next(caches)))
        yield


@pytest.fixture(autouse=True)
def _cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(next(caches)))
