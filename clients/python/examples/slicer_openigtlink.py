"""3D Slicer, or another program with OpenIGTLink, moves an instrument in Palpate and sees what tissue does to it.

    pip install palpate pyigtl
    python slicer_openigtlink.py TISSUE TOOL [--address ADDRESS] [--scale-to-m 0.001] [--lps]

In Slicer, module OpenIGTLinkIF: a connector of type Client to port 18944; a linear transform `Tool` as an output node.

| message | name | |
|---|---|---|
| TRANSFORM | `Tool` | in: pose of the device, which the hand holds |
| TRANSFORM | `Proxy` | out: pose of the proxy, which tissue holds back, in answer to each `Tool` |
| STRING | `Force` | out: force (N) and torque (N m) on the tool, six numbers in the axes of the transforms |
| POLYDATA | `Tissue` | out: the tissue's surface, when the program connects and when the surface has changed |

Lengths are millimetres and axes are right, anterior, superior (RAS), as Slicer has them. Slicer writes files of models
with axes left, posterior, superior unless it is told otherwise: `--lps` says that these files are so.

pyigtl packs and unpacks the messages. Its own client and server are not used: they send only when nothing has been
received for 10 ms, and a client of it cannot receive POLYDATA.
"""

from __future__ import annotations

import argparse
import contextlib
import socketserver
import struct
import sys
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from pyigtl.messages import MessageBase, PolyDataMessage, StringMessage, TransformMessage

import palpate

_MM_PER_M = 1e3
# A message of a pose is far smaller.
_BODY_BYTES_MAX = 1 << 20


class Frames:
    """Conversion between Palpate, in metres and the axes of the files, and OpenIGTLink, in millimetres and RAS."""

    def __init__(self, is_lps: bool) -> None:
        # Its own inverse. A tool's file has the same axes, so poses are turned on both sides.
        self._turn = np.diag([-1.0, -1.0, 1.0] if is_lps else [1.0, 1.0, 1.0])

    def to_pose(self, matrix: npt.NDArray[np.float64]) -> palpate.Pose:
        """Raises:
        ValueError: the matrix is not a rigid transform.
        """
        converted = np.eye(4)
        converted[:3, :3] = self._turn @ matrix[:3, :3] @ self._turn
        converted[:3, 3] = self._turn @ matrix[:3, 3] / _MM_PER_M
        return palpate.Pose.from_matrix(converted)

    def from_pose(self, pose: palpate.Pose) -> npt.NDArray[np.float64]:
        converted = np.eye(4)
        converted[:3, :3] = self._turn @ pose.matrix[:3, :3] @ self._turn
        converted[:3, 3] = self._turn @ pose.position_m * _MM_PER_M
        return converted

    def from_points(self, points_m: npt.ArrayLike) -> npt.NDArray[np.float64]:
        converted: npt.NDArray[np.float64] = np.asarray(points_m, np.float64) @ self._turn * _MM_PER_M
        return converted

    def from_vector(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        turned: npt.NDArray[np.float64] = self._turn @ vector
        return turned


class IgtlServer(socketserver.ThreadingTCPServer):
    """The tool and the tissue's surface, for all programs that connect."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, given: argparse.Namespace, loop: palpate.HapticLoop, tool: palpate.Tool) -> None:
        super().__init__((given.host, given.port), IgtlConnection)
        self.frames = Frames(given.lps)
        self.loop, self.tool = loop, tool
        # Several programs may move the tool: one tick after the other.
        self.turn = threading.Lock()
        # The newest surface as a message, and its revision.
        self.surface = (-1, b"")

    def take(self, surface: palpate.Surface) -> None:
        """Packs a surface once, for all connections."""
        corners = np.insert(surface.triangles, 0, 3, axis=1).ravel()
        points = self.frames.from_points(surface.positions_m)
        message = PolyDataMessage(points=points, polygons=corners, device_name="Tissue")
        self.surface = (surface.geometry_revision, message.pack())


class IgtlConnection(socketserver.StreamRequestHandler):
    """A program that is connected."""

    server: IgtlServer
    # Pose messages are small: each is sent at once.
    disable_nagle_algorithm = True

    def handle(self) -> None:
        print(f"{self.client_address[0]} is connected", flush=True)
        self._sending = threading.Lock()
        self._is_over = threading.Event()
        self._is_reported = False
        surfaces = threading.Thread(target=self._send_surfaces, daemon=True)
        surfaces.start()
        try:
            with contextlib.suppress(OSError):
                while (message := self._receive()) is not None:
                    self._answer(*message)
        except (ValueError, struct.error) as error:
            print(f"invalid OpenIGTLink message: {error}", file=sys.stderr, flush=True)
        finally:
            self._is_over.set()
            surfaces.join()
            print(f"{self.client_address[0]} is gone", flush=True)

    def _receive(self) -> tuple[dict[str, Any], bytes] | None:
        """Returns the next message. `None`: the connection has ended."""
        header = self.rfile.read(MessageBase.IGTL_HEADER_SIZE)
        if len(header) < MessageBase.IGTL_HEADER_SIZE:
            return None
        fields: dict[str, Any] = MessageBase.parse_header(header)
        size = fields["body_size"]
        if size > _BODY_BYTES_MAX:
            raise ValueError(f"the body has {size} bytes, expected at most {_BODY_BYTES_MAX}")
        body = self.rfile.read(size)
        return None if len(body) < size else (fields, body)

    def _answer(self, fields: dict[str, Any], body: bytes) -> None:
        """Answers a transform of the tool. Other messages are ignored."""
        if fields["message_type"] != "TRANSFORM" or fields["device_name"] != "Tool":
            return
        message = TransformMessage()
        message.unpack(fields, body)
        server = self.server
        try:
            pose = server.frames.to_pose(np.asarray(message.matrix, np.float64))
            with server.turn:
                rendering = server.loop.tick({server.tool: pose}).renderings[0]
        except (ValueError, palpate.InvalidArgument) as error:
            # A bad transform must not end the connection. One line for any number of them.
            if not self._is_reported:
                print(f"Tool: {error}", file=sys.stderr, flush=True)
            self._is_reported = True
            return
        self._is_reported = False
        proxy = TransformMessage(server.frames.from_pose(rendering.proxy), device_name="Proxy")
        wrench = [*server.frames.from_vector(rendering.force_n), *server.frames.from_vector(rendering.torque_nm)]
        force = StringMessage(" ".join(f"{part:.6g}" for part in wrench), device_name="Force")
        self._send(proxy.pack() + force.pack())

    def _send_surfaces(self) -> None:
        """Sends the tissue's surface, and again when it has changed."""
        sent = -1
        with contextlib.suppress(OSError):
            while not self._is_over.wait(0.05):
                revision, message = self.server.surface
                if revision != sent:
                    self._send(message)
                    sent = revision

    def _send(self, message: bytes) -> None:
        with self._sending:
            self.wfile.write(message)


def run(given: argparse.Namespace) -> None:
    with (
        palpate.connect(given.address) as server,
        server.create_scene(given.scene, replace=True) as scene,
    ):
        tissue = scene.add_tissue("tissue", given.tissue, scale_to_m=given.scale_to_m)
        tool = scene.add_tool("tool", given.tool, scale_to_m=given.scale_to_m)
        render = palpate.Render(tool, given.stiffness)
        with scene.track([tool], render=[render]) as loop, IgtlServer(given, loop, tool) as igtl:
            igtl.take(tissue.export())
            threading.Thread(target=igtl.serve_forever, daemon=True).start()
            print(f"OpenIGTLink is served on port {igtl.server_address[1]}", flush=True)
            # Until Palpate is gone or the tissue removed, which raises an error.
            while True:
                [now] = [each for each in scene.describe().tissues if each.tissue_id == tissue.id]
                if now.geometry_revision != igtl.surface[0]:
                    igtl.take(tissue.export())
                time.sleep(0.2)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tissue", help="mesh file of the tissue")
    arguments.add_argument("tool", help="mesh file of the tool")
    arguments.add_argument("--address", default="127.0.0.1:7447")
    arguments.add_argument("--scale-to-m", type=float, default=0.001, help="metres per unit of the files")
    arguments.add_argument("--lps", action="store_true", help="the files' axes are left, posterior, superior")
    arguments.add_argument("--scene", default="slicer")
    arguments.add_argument("--host", default="127.0.0.1", help="address to listen at")
    arguments.add_argument("--port", type=int, default=18944, help="port to listen at; 0: a free one")
    arguments.add_argument("--stiffness", type=float, default=500.0, help="of the spring, N/m")
    given = arguments.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            run(given)
    except (OSError, palpate.PalpateError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
