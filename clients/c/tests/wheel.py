"""Steps recorded poses through the Python package's loop, and writes what the server renders: wheel.py FOLDER OUT HOST:PORT

Its force and torque are those of the answers, without a servo.
"""

import pathlib
import struct
import sys

import palpate

folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
felt = []
with palpate.connect(sys.argv[3]) as server, server.create_scene("replay-wheel") as scene:
    scene.add_tissue("organ", str(folder / "organ.obj"))
    tool = scene.add_tool("tool", str(folder / "tool.obj"))
    # Faster than any change here, because the server's rate limit uses its own clock.
    rates = {"max_force_rate_n_per_s": 1e6, "max_torque_rate_nm_per_s": 1e5}
    render = palpate.Render(tool, friction=0.2, hold_point_m=(0, 0, 0.03), **rates)
    with scene.track([tool], render=[render], mode="every") as loop:
        for numbers in struct.iter_unpack("<7d", (folder / "poses.bin").read_bytes()):
            rendering = loop.tick(palpate.Pose(numbers[:3], numbers[3:])).renderings[0]
            felt.append(struct.pack("<6d", *rendering.force_n, *rendering.torque_nm))
out.write_bytes(b"".join(felt))
