"""An instrument comes down on an organ until it touches.

    python first_contact.py [ADDRESS]

with `cargo run --release -- serve` in another terminal.
"""

import sys

import numpy as np

import palpate
from palpate import MeshLike


def touch(address: str, organ: MeshLike, instrument: MeshLike) -> float:
    with palpate.connect(address) as server, server.create_scene("first-contact") as scene:
        scene.add_tissue("organ", organ)
        tool = scene.add_tool("instrument", instrument)
        z = 0.3
        with scene.track([tool]) as loop:
            while (distance_m := loop.tick([0, 0, z]).links[0].signed_distance_m) > 1e-6:
                print(f"{1e3 * z:6.1f} mm: {1e3 * distance_m:6.2f} mm away")
                z -= distance_m
        return z


def main() -> None:
    # Octahedra, counter-clockwise seen from outside. Paths of files are accepted too: "liver.obj".
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    sides = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7447"
    z = touch(address, (0.05 * corners, sides), (0.005 * corners, sides))
    print(f"the instrument touches at {1e3 * z:.1f} mm")


if __name__ == "__main__":
    main()
