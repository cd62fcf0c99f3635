"""A drill guide rests on a vertebra that moves with the patient's breath.

    python bone.py [ADDRESS]

without an address with a server of its own. The vertebra is one frame: each of its 60 poses a second is a message of 28
bytes, whatever its number of triangles. The guide is held still; the bone comes against it, and bears its force.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import palpate

Array = npt.NDArray[np.float64]

BREATH_S, RISE_M, TILT = 2.0, 0.004, 0.03
GUIDE_RADIUS_M, GUIDE_LENGTH_M = 0.004, 0.05
# The guide is above the bone by this at the lowest point of a breath.
CLEARANCE_M = 0.002
TICKS_PER_POSE = 16


def vertebra(rings: int = 60) -> tuple[Array, npt.NDArray[np.int64]]:
    """A body with a waist and rounded rims, closed: a surface of revolution about z."""
    turns = 2 * rings
    height = np.cos(np.pi * np.arange(1, rings) / rings)
    radius = 0.02 * (1 - height**8) ** 0.25 * (1 - 0.25 * np.cos(np.pi * height / 2) ** 2)
    angle = 2 * np.pi * np.arange(turns) / turns
    sides = np.stack([np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))], axis=-1)
    z = np.broadcast_to(0.014 * height[:, None, None], (*sides.shape[:2], 1))
    points = np.vstack([np.concatenate([sides, z], axis=-1).reshape(-1, 3), [[0, 0, 0.014], [0, 0, -0.014]]])
    here, on = np.arange(turns), (np.arange(turns) + 1) % turns
    low = turns * np.arange(rings - 2)[:, None]
    walls = [[low + here, low + turns + here, low + on], [low + on, low + turns + here, low + turns + on]]
    last = turns * (rings - 2)
    top, bottom = np.full(turns, len(points) - 2), np.full(turns, len(points) - 1)
    caps = [[top, here, on], [bottom, last + on, last + here]]
    triangles = [np.stack(np.broadcast_arrays(*side), axis=-1).reshape(-1, 3) for side in (*walls, *caps)]
    return points, np.concatenate(triangles)


def pose_of_bone(time_s: float) -> Array:
    """Position, and quaternion of the tilt about x."""
    breath = 0.5 - 0.5 * np.cos(2 * np.pi * time_s / BREATH_S)
    half = 0.5 * TILT * breath
    return np.array([0, 0, RISE_M * breath, np.sin(half), 0, 0, np.cos(half)])


@dataclass(frozen=True)
class Sample:
    """What a tick answered, newtons and newton metres, scene frame."""

    time_s: float
    hand_n: Array
    # On the bone's frame, about its origin.
    bone_n: Array
    bone_nm: Array
    contacts_n: Array
    contacts_m: Array
    # Distance of the proxy from the bone, metres, negative inside.
    distance_m: float


def run(address: str) -> list[Sample]:
    """Breathes once."""
    positions, triangles = vertebra()
    guide = palpate.Tube([[0, 0, GUIDE_RADIUS_M], [0, 0, GUIDE_LENGTH_M]], GUIDE_RADIUS_M)
    hand = np.array([0.006, 0.002, 0.014 + CLEARANCE_M])
    samples = []
    with palpate.connect(address) as server, server.create_scene("bone") as scene:
        rigid = palpate.Binding.rigid(pose_of_bone(0.0), len(positions))
        bone = scene.add_tissue("vertebra", (positions, triangles), binding=rigid)
        tool = scene.add_tool("guide", guide.mesh)
        render = palpate.Render(tool, stiffness_n_per_m=1000.0, tissue_loads=True)
        with scene.track([tool], render=[render]) as loop:
            for n in range(round(1000 * BREATH_S)):
                if n % TICKS_PER_POSE == 0:
                    bone.deform(controls=[pose_of_bone(1e-3 * n)])
                rendering = loop.tick(hand).renderings[0]
                force, torque = np.zeros(3), np.zeros(3)
                for load in rendering.tissue_loads:
                    force, torque = load.control_force_xyz_n[0], load.control_torque_xyz_nm[0]
                contacts = np.float64(rendering.contact_force_xyz_n), np.float64(rendering.contact_xyz_m)
                away = scene.query_contacts(tool, rendering.proxy).links[0].signed_distance_m if n % 50 == 0 else 0.0
                samples.append(Sample(1e-3 * n, rendering.force_n, force, torque, *contacts, away))
    return samples


def main() -> None:
    if len(sys.argv) > 1:
        samples = run(sys.argv[1])
    else:
        with palpate.start() as server:
            samples = run(server.address)
    print("  time   on the hand   on the bone   its moment")
    for s in samples[::200]:
        hand, bone, moment = (np.linalg.norm(v) for v in (s.hand_n, s.bone_n, s.bone_nm))
        print(f"{s.time_s:5.1f} s {hand:9.2f} N {bone:11.2f} N {1e3 * moment:9.1f} mN m")


if __name__ == "__main__":
    main()
