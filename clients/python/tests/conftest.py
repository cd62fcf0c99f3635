from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from support import ServerProgram

import palpate

_figures: list[str] = []


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Prints a measured figure at the end of the run."""
    return _figures.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _figures:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    """One server for all tests that do not end it. Its sessions outlive their streams by 10 s."""
    program = ServerProgram(tmp_path_factory.mktemp("server"))
    yield program
    program.end()


@pytest.fixture
def server(program: ServerProgram) -> Iterator[palpate.Server]:
    with palpate.connect(program.address) as server:
        yield server


@pytest.fixture
def scene(server: palpate.Server, request: pytest.FixtureRequest) -> Iterator[palpate.Scene]:
    """A scene of the test's name."""
    with server.create_scene(re.sub("[^a-z0-9]", "-", request.node.name)[:64]) as scene:
        yield scene
