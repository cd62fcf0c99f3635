"""Makes `liver.msh`, the tetrahedra of the liver in `mujoco_liver.py`. No organ was scanned for it: it is a block of
cells, rounded, tapered to one side and bent, 16 cm long, and free of any rights but those of this project.

    python make_liver.py
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

CELLS = (10, 7, 4)
HALF_SIZE_M = (0.08, 0.055, 0.024)
# Corners of a cell by bits x, y, z; six tetrahedra around its diagonal, so that neighbours share their faces.
CORNERS = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
TETRAHEDRA = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


def liver() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Vertices in metres and tetrahedra of positive volume."""
    nodes = np.stack(np.meshgrid(*(np.arange(n + 1) for n in CELLS), indexing="ij"), axis=-1)
    number = np.arange(nodes[..., 0].size).reshape(nodes.shape[:3])
    first = np.stack(np.meshgrid(*(np.arange(n) for n in CELLS), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    cells = number[tuple(np.moveaxis(first + CORNERS, -1, 0))]
    tetrahedra = cells[:, TETRAHEDRA].reshape(-1, 4)

    x, y, z = np.moveaxis(2 * nodes.reshape(-1, 3) / CELLS - 1, -1, 0)
    # Half way from a cube to a ball: round, but without the flat tetrahedra that a ball has in the cube's corners.
    ball = np.stack(
        [
            x * np.sqrt(1 - y**2 / 2 - z**2 / 2 + y**2 * z**2 / 3),
            y * np.sqrt(1 - z**2 / 2 - x**2 / 2 + z**2 * x**2 / 3),
            z * np.sqrt(1 - x**2 / 2 - y**2 / 2 + x**2 * y**2 / 3),
        ],
        axis=-1,
    )
    points = (np.stack([x, y, z], axis=-1) + 2 * ball) / 3
    # The left lobe is thinner and narrower, and the whole liver is bent over the stomach.
    taper = 1 - 0.3 * (points[:, :1] + 1) / 2
    points[:, 1:] *= taper
    points *= HALF_SIZE_M
    points[:, 2] -= 1.2 * points[:, 0] ** 2
    return points, tetrahedra


def volumes(points: npt.NDArray[np.float64], tetrahedra: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    a, b, c, d = np.moveaxis(points[tetrahedra], 1, 0)
    found: npt.NDArray[np.float64] = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6
    return found


def main() -> None:
    points, tetrahedra = liver()
    assert volumes(points, tetrahedra).min() > 0
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(points))]
    lines += [f"{i} {x:.5f} {y:.5f} {z:.5f}" for i, (x, y, z) in enumerate(points, 1)]
    # Type 4 is a tetrahedron; its two tags have no meaning here.
    lines += ["$EndNodes", "$Elements", str(len(tetrahedra))]
    lines += [f"{i} 4 2 1 1 {a} {b} {c} {d}" for i, (a, b, c, d) in enumerate(tetrahedra + 1, 1)]
    lines += ["$EndElements", ""]
    Path(__file__).with_name("liver.msh").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
