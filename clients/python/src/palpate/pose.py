"""Rigid transforms: the poses of tools."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .contract import message

_POSE = message("Pose")
# Largest accepted difference of a quaternion's norm from 1, as at the server.
NORM_SLACK = 1e-3


@runtime_checkable
class Rotation(Protocol):
    """A rotation, as `scipy.spatial.transform.Rotation` is."""

    def as_quat(self) -> Any:
        """The rotation as a quaternion x, y, z, w."""


def _floats(values: npt.ArrayLike, name: str, size: int) -> npt.NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.shape != (size,):
        raise ValueError(f"{name} has the shape {array.shape}, expected ({size},)")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is {array.tolist()}, expected finite numbers")
    return array


def vector_message(values: npt.ArrayLike, name: str) -> dict[str, float]:
    """Converts three numbers to the contract's `Vec3`.

    Raises:
        ValueError: these are not three numbers.
    """
    return dict(zip("xyz", _floats(values, name, 3).tolist(), strict=True))


def quaternions(turns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Converts rotation matrices `(n, 3, 3)` to quaternions `(n, 4)`, x, y, z, w."""
    # Eigenvector of the greatest eigenvalue (Bar-Itzhack 2000): no branches, and also correct for half turns. Only the
    # lower triangle is read.
    k = np.zeros((len(turns), 4, 4))
    x, y, z = np.moveaxis(np.diagonal(turns, axis1=1, axis2=2), 1, 0)
    k[:, 0, 0], k[:, 1, 1], k[:, 2, 2], k[:, 3, 3] = x - y - z, y - x - z, z - x - y, x + y + z
    k[:, 1, 0], k[:, 2, 0] = turns[:, 1, 0] + turns[:, 0, 1], turns[:, 2, 0] + turns[:, 0, 2]
    k[:, 2, 1], k[:, 3, 0] = turns[:, 2, 1] + turns[:, 1, 2], turns[:, 2, 1] - turns[:, 1, 2]
    k[:, 3, 1], k[:, 3, 2] = turns[:, 0, 2] - turns[:, 2, 0], turns[:, 1, 0] - turns[:, 0, 1]
    found: npt.NDArray[np.float64] = np.linalg.eigh(k)[1][:, :, -1]
    return found


def rotation_matrices(turns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Converts quaternions `(n, 4)`, x, y, z, w, to rotation matrices `(n, 3, 3)`."""
    x, y, z, w = (turns / np.linalg.norm(turns, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    found: npt.NDArray[np.float64] = np.moveaxis(np.array(rows), 2, 0)
    return found


class Pose:
    """A rigid transform: first the rotation, then the translation. A tool's pose takes tool frame to scene frame."""

    __slots__ = ("orientation", "position_m")

    def __init__(
        self, position_m: npt.ArrayLike = (0, 0, 0), orientation: npt.ArrayLike | Rotation = (0, 0, 0, 1)
    ) -> None:
        """`position_m`: metres. `orientation`: a quaternion x, y, z, w of norm 1, to within 1e-3, or
        a rotation of SciPy.

        Raises:
            ValueError: these are not three and four finite numbers, or the norm is another.
        """
        # The arrays are copied: the caller may change its own later.
        self.position_m = _floats(position_m, "position_m", 3)
        self.orientation = _floats(
            orientation.as_quat() if isinstance(orientation, Rotation) else orientation, "orientation", 4
        )
        norm = float(np.linalg.norm(self.orientation))
        if not abs(norm - 1) <= NORM_SLACK:
            raise ValueError(f"orientation {self.orientation.tolist()} has the norm {norm}, expected 1")

    def __repr__(self) -> str:
        return f"Pose({self.position_m.tolist()}, {self.orientation.tolist()})"

    @staticmethod
    def from_matrix(matrix: npt.ArrayLike) -> Pose:
        """Makes a pose from a 4 x 4 matrix: a rotation, a translation in metres, and 0, 0, 0, 1
        below.

        Raises:
            ValueError: the matrix is not a rigid transform.
        """
        m = np.asarray(matrix, dtype=np.float64)
        if m.shape != (4, 4) or not np.allclose(m[3], (0, 0, 0, 1)):
            raise ValueError(f"the matrix is\n{m}\nexpected 4 x 4 with 0, 0, 0, 1 below")
        r = m[:3, :3]
        if not np.allclose(r @ r.T, np.eye(3), atol=1e-6) or np.linalg.det(r) < 0:
            raise ValueError(f"the matrix turns by\n{r}\nexpected a rotation")
        return Pose(m[:3, 3], quaternions(r[None])[0])

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The pose as a 4 x 4 matrix."""
        matrix = np.eye(4)
        matrix[:3, :3] = rotation_matrices(self.orientation[None])[0]
        matrix[:3, 3] = self.position_m
        return matrix

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The pose as a 4 x 4 matrix, for functions that take arrays."""
        if copy is False:
            raise ValueError("a pose is converted to a new array, and cannot be given without a copy")
        return self.matrix if dtype is None else self.matrix.astype(dtype)

    def inverse(self) -> Pose:
        """Returns the transform back."""
        turn = np.array((-1, -1, -1, 1)) * self.orientation
        return Pose(-(Pose((0, 0, 0), turn) * self.position_m), turn)

    def __matmul__(self, other: PoseLike) -> Pose:
        """Returns the pose that applies `other` first and then this one."""
        inner = as_pose(other)
        x, y, z, w = self.orientation
        product = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]]) @ inner.orientation
        return Pose(self * inner.position_m, product / np.linalg.norm(product))

    def __mul__(self, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Transforms points, `(n, 3)` or `(3,)`, from the frame of the pose to the frame that it
        maps to.
        """
        matrix = self.matrix
        moved: npt.NDArray[np.float64] = np.asarray(points) @ matrix[:3, :3].T + matrix[:3, 3]
        return moved


# Pose of an object: a pose, a position in metres without a rotation, or a 4 x 4 matrix.
PoseLike = Pose | npt.ArrayLike


def as_pose(given: PoseLike) -> Pose:
    """Converts to a pose.

    Raises:
        ValueError: this is neither a pose, three numbers nor a 4 x 4 matrix.
    """
    if isinstance(given, Pose):
        return given
    array = np.asarray(given, dtype=np.float64)
    if array.shape == (3,):
        return Pose(array)
    if array.shape == (4, 4):
        return Pose.from_matrix(array)
    raise ValueError(f"a pose has the shape {array.shape}, expected a Pose, (3,) or (4, 4)")


def pose_message(given: PoseLike) -> Any:
    """Converts a pose to the contract's message."""
    pose = as_pose(given)
    (x, y, z), (i, j, k, w) = pose.position_m.tolist(), pose.orientation.tolist()
    return _POSE(position_m={"x": x, "y": y, "z": z}, orientation={"x": i, "y": j, "z": k, "w": w})
