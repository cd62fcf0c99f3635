"""An instrument in Palpate as an arm of CRTK (github.com/collaborative-robotics), on the topics of ROS 2.

    pip install palpate cyclonedds
    python crtk_arm.py TISSUE TOOL [--address ADDRESS] [--scale-to-m 0.001] [--namespace palpate]

| topic | type | |
|---|---|---|
| `servo_cp` | `geometry_msgs/PoseStamped` | in: pose of the device, which the hand holds |
| `measured_cp` | `geometry_msgs/PoseStamped` | out: pose of the proxy, which tissue holds back |
| `body/measured_cf` | `geometry_msgs/WrenchStamped` | out: force and torque on the tool, in the tool's frame |

In metres, newtons and newton metres, in the scene's frame, whose name is `--frame`. Needs no ROS: it speaks DDS as
ROS 2 does, on the domain of `--domain` (ROS_DOMAIN_ID). A force that a device renders belongs in the servo of the C
library (clients/guides): here it is a message of the newest tick.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cyclonedds.core import Policy
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import int32, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import palpate


@final
@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@final
@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@final
@dataclass
class Vector3(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float
    y: float
    z: float


@final
@dataclass
class Point(IdlStruct, typename="geometry_msgs::msg::dds_::Point_"):
    x: float
    y: float
    z: float


@final
@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float
    y: float
    z: float
    w: float


@final
@dataclass
class Pose(IdlStruct, typename="geometry_msgs::msg::dds_::Pose_"):
    position: Point
    orientation: Quaternion


@final
@dataclass
class PoseStamped(IdlStruct, typename="geometry_msgs::msg::dds_::PoseStamped_"):
    header: Header
    pose: Pose


@final
@dataclass
class Wrench(IdlStruct, typename="geometry_msgs::msg::dds_::Wrench_"):
    force: Vector3
    torque: Vector3


@final
@dataclass
class WrenchStamped(IdlStruct, typename="geometry_msgs::msg::dds_::WrenchStamped_"):
    header: Header
    wrench: Wrench


# ROS 2's default for topics; the representation is the one that its middleware reads.
QOS = Qos(
    Policy.Reliability.Reliable(duration(milliseconds=100)),
    Policy.History.KeepLast(10),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
# Only the newest command counts.
COMMAND_QOS = Qos(Policy.History.KeepLast(1), base=QOS)


class Arm:
    """The topics of one arm."""

    def __init__(self, domain: int, namespace: str, frame: str) -> None:
        self._frame = frame
        participant = DomainParticipant(domain)

        def topic(name: str, kind: type) -> Topic[Any]:
            # Topics of ROS 2 begin with "rt/".
            return Topic(participant, "/".join(filter(None, ("rt", namespace.strip("/"), name))), kind)

        self._commands = DataReader(participant, topic("servo_cp", PoseStamped), COMMAND_QOS)
        self._measured = DataWriter(participant, topic("measured_cp", PoseStamped), QOS)
        self._force = DataWriter(participant, topic("body/measured_cf", WrenchStamped), QOS)

    def commands(self) -> Iterator[PoseStamped]:
        """Commands as they come, without end; of those that came meanwhile only the newest."""
        while True:
            # A wait without end could not be interrupted.
            for command in self._commands.take_iter(timeout=duration(seconds=0.5)):
                if isinstance(command, PoseStamped):
                    yield command

    def publish(self, stamp: Time, rendering: palpate.answers.Rendering) -> None:
        """Publishes an answer, with the stamp of its command."""
        proxy = rendering.proxy
        header = Header(stamp, self._frame)
        pose = Pose(Point(*proxy.position_m.tolist()), Quaternion(*proxy.orientation.tolist()))
        self._measured.write(PoseStamped(header, pose))
        to_body = proxy.matrix[:3, :3].T
        force, torque = (to_body @ vector for vector in (rendering.force_n, rendering.torque_nm))
        wrench = Wrench(Vector3(*force.tolist()), Vector3(*torque.tolist()))
        self._force.write(WrenchStamped(header, wrench))


def serve(loop: palpate.HapticLoop, tool: palpate.Tool, arm: Arm) -> None:
    """Answers commands until the server ends the loop."""
    is_reported = False
    for command in arm.commands():
        at, turn = command.pose.position, command.pose.orientation
        try:
            pose = palpate.Pose((at.x, at.y, at.z), (turn.x, turn.y, turn.z, turn.w))
            rendering = loop.tick({tool: pose}).renderings[0]
        except (ValueError, palpate.InvalidArgument) as error:
            # A bad command must not end the session. One line for any number of them.
            if not is_reported:
                print(f"servo_cp: {error}", file=sys.stderr, flush=True)
            is_reported = True
            continue
        is_reported = False
        arm.publish(command.header.stamp, rendering)


def run(given: argparse.Namespace) -> None:
    with (
        palpate.connect(given.address) as server,
        server.create_scene(given.scene, replace=True) as scene,
    ):
        scene.add_tissue("tissue", given.tissue, scale_to_m=given.scale_to_m)
        tool = scene.add_tool("tool", given.tool, scale_to_m=given.scale_to_m)
        render = palpate.Render(tool, given.stiffness)
        with scene.track([tool], render=[render]) as loop:
            arm = Arm(given.domain, given.namespace, given.frame)
            print(f"ready in namespace {given.namespace!r} of domain {given.domain}", flush=True)
            serve(loop, tool, arm)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tissue", help="mesh file of the tissue")
    arguments.add_argument("tool", help="mesh file of the tool")
    arguments.add_argument("--address", default="127.0.0.1:7447")
    arguments.add_argument("--scale-to-m", type=float, default=1.0, help="metres per unit of the files")
    arguments.add_argument("--scene", default="crtk-arm")
    arguments.add_argument("--namespace", default="palpate")
    arguments.add_argument("--frame", default="scene", help="frame_id of what is sent")
    arguments.add_argument("--domain", type=int, default=int(os.environ.get("ROS_DOMAIN_ID", "0")))
    arguments.add_argument("--stiffness", type=float, default=500.0, help="of the spring, N/m")
    given = arguments.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            run(given)
    except palpate.PalpateError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
