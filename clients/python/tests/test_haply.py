"""The Inverse3's example against a stand-in for its service: what the hand feels, and what it never feels."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import HAS_ENGINE, ServerProgram

import palpate

if not HAS_ENGINE:
    pytest.skip("PALPATE_LIBRARY names no C library", allow_module_level=True)
pytest.importorskip("websockets", reason="websockets is not installed")

import haply_inverse3  # noqa: E402
from haply_inverse3 import (  # noqa: E402
    BALL_RADIUS_M,
    MAX_FORCE_N,
    MAX_RATE_N_PER_S,
    PAD_TOP_M,
    STIFFNESS_N_PER_M,
)
from inverse_service import Exchange, InverseService  # noqa: E402

# Height at which the ball touches the pad.
SURFACE_M = PAD_TOP_M + BALL_RADIUS_M
# Without answers the servo's force fades from an age of 0.1 s on, and is zero 0.05 s later. A message may be late.
GONE_S = 0.1 + 0.05 + 0.05
# The proxy keeps a distance of 20 um, and the ball's field is accurate to a thousandth of its diagonal of 17 mm.
SLACK_N = STIFFNESS_N_PER_M * (20e-6 + 17e-6)
# Rounding of a sum of doubles.
ROUNDED_N = 1e-9


class Client:
    """The example on a thread of its own."""

    def __init__(self, address: str, service: InverseService, max_force_n: float = MAX_FORCE_N) -> None:
        self.failure: BaseException | None = None

        def run() -> None:
            try:
                haply_inverse3.run(address, service.address, max_force_n=max_force_n)
            except BaseException as error:
                self.failure = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def ends(self) -> None:
        self._thread.join(timeout=60)
        assert not self._thread.is_alive() and self.failure is None, self.failure


@pytest.fixture
def service() -> Iterator[InverseService]:
    service = InverseService(SURFACE_M + 0.01)
    yield service
    service.close()


def assert_bounded(exchanges: list[Exchange], max_force_n: float) -> None:
    """No force above the cap, and none that changes faster than the rate, by the service's clock: the client heard one
    message after it was sent, and answered the next one before that answer came.
    """
    for before, after in zip(exchanges[:-1], exchanges[1:], strict=True):
        assert np.linalg.norm(after.force_n) <= max_force_n + ROUNDED_N
        step_n = float(np.linalg.norm(after.force_n - before.force_n))
        assert step_n <= MAX_RATE_N_PER_S * (after.received_s - before.sent_s) + ROUNDED_N


def test_the_hand_feels_how_deep_it_presses_and_nothing_outside(
    program: ServerProgram, service: InverseService, figure: Callable[[str], None]
) -> None:
    client = Client(program.address, service)
    service.wait(100)
    for depth_m in np.linspace(0.002, 0.01, 5):
        service.move(SURFACE_M - depth_m, 0.1)
        held = service.exchanges[-1]
        assert held.force_n[2] == pytest.approx(STIFFNESS_N_PER_M * depth_m, abs=SLACK_N)
        assert np.abs(held.force_n[:2]).max() < SLACK_N
    service.move(SURFACE_M + 0.01, 0.2)
    retreated = len(service.exchanges)
    service.wait(100)
    service.close()
    client.ends()
    felt = service.exchanges
    assert not service.foreign
    assert_bounded(felt, MAX_FORCE_N)
    assert all((one.force_n == 0).all() for one in felt[retreated:])
    # Nothing is felt before the pad is. (On the way in the servo also damps the hand.)
    first = next(n for n, one in enumerate(felt) if one.height_m < SURFACE_M + 1e-3)
    assert all((one.force_n == 0).all() for one in felt[:first])
    taken = [1e6 * (one.received_s - one.sent_s) for one in felt]
    rate = len(felt) / (felt[-1].received_s - felt[0].sent_s)
    p50, p99 = np.percentile(taken, [50, 99])
    figure(
        f"Inverse3 (a stand-in in the same process): {rate:.0f} forces a second, "
        f"each p50 {p50:.0f} us, p99 {p99:.0f} us after its position"
    )
    with palpate.connect(program.address) as server, pytest.raises(palpate.NotFound):
        server.scene("inverse3")


def test_a_service_that_is_not_there_is_told_in_a_line(program: ServerProgram) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        service = f"ws://127.0.0.1:{closed.getsockname()[1]}"
    command = [sys.executable, haply_inverse3.__file__, program.address, "--service", service]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Haply's Inverse Service does not answer at {service}: ")
    assert len(done.stderr.splitlines()) == 1


def test_no_force_is_above_the_cap(program: ServerProgram, service: InverseService) -> None:
    client = Client(program.address, service, max_force_n=1.0)
    service.wait(100)
    service.move(SURFACE_M - 0.01, 0.2)
    assert service.exchanges[-1].force_n[2] == pytest.approx(1.0, abs=SLACK_N)
    service.move(SURFACE_M + 0.01, 0.2)
    service.close()
    client.ends()
    assert_bounded(service.exchanges, 1.0)


def test_the_force_fades_when_palpate_is_silent_and_comes_back_with_it(tmp_path: Path, service: InverseService) -> None:
    program = ServerProgram(tmp_path)
    client = Client(program.address, service)
    service.wait(100)
    service.move(SURFACE_M - 0.01, 0.2)
    pressed_n = float(np.linalg.norm(service.exchanges[-1].force_n))
    program.stop()
    stopped_s = time.monotonic()
    service.wait(300)
    # No answer belongs to a later pose: its age limits the force, which only falls and is none in time.
    since = [one for one in service.exchanges if one.sent_s >= stopped_s]
    sizes_n = [float(np.linalg.norm(one.force_n)) for one in since]
    assert all(after <= before + SLACK_N for before, after in zip([pressed_n, *sizes_n[:-1]], sizes_n, strict=True))
    assert all(size == 0 for one, size in zip(since, sizes_n, strict=True) if one.sent_s > stopped_s + GONE_S)
    assert since[-1].sent_s > stopped_s + GONE_S
    program.go_on()
    until = time.monotonic() + 60
    while np.linalg.norm(service.exchanges[-1].force_n) < 0.9 * pressed_n:
        assert time.monotonic() < until
        service.wait(10)
    assert_bounded(service.exchanges, MAX_FORCE_N)
    # The killed server stays away: the example ends when its loop gives up, and the force is zero before that.
    program.kill()
    killed_s = time.monotonic()
    service.wait(300)
    assert all((one.force_n == 0).all() for one in service.exchanges if one.sent_s >= killed_s + GONE_S)
    service.close()
    client._thread.join(timeout=60)
    assert isinstance(client.failure, palpate.Unavailable), "it cannot delete its scene"


def test_no_force_is_left_standing_when_the_service_is_silent(program: ServerProgram, service: InverseService) -> None:
    client = Client(program.address, service)
    service.wait(100)
    service.move(SURFACE_M - 0.01, 0.2)
    service.wait(10)
    assert service.exchanges[-1].force_n[2] > 1.9
    service.fall_silent(0.3)
    service.wait(500)
    exchanges = service.exchanges
    resumed = next(n for n in range(1, len(exchanges)) if exchanges[n].sent_s - exchanges[n - 1].sent_s > 0.25)
    # The force is zero by then. It starts again at zero, grows no faster than the rate, and is back soon.
    assert (exchanges[resumed].force_n == 0).all()
    assert_bounded(exchanges[resumed:], MAX_FORCE_N)
    assert exchanges[-1].force_n[2] > 1.9

    # A position that the device itself does not trust gives no force.
    service.is_calibrated = False
    service.wait(100)
    assert (service.exchanges[-1].force_n == 0).all()
    service.close()
    client.ends()


def test_a_service_without_a_device_is_refused() -> None:
    with pytest.raises(LookupError, match="no Inverse3"):
        haply_inverse3.Handle.of({"inverse3": []})
