"""Materials: what a tissue feels like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .packed import indices


@dataclass(frozen=True)
class Material:
    """A contact law. It changes the force of a contact, and no geometry.

    Attributes:
        stiffness_n_per_m: in series with the tool's coupling at the contact, 1 to 100,000 N/m: a
            coupling of 500 N/m on a tissue of 500 N/m feels 250 N/m. None: rigid.
        damping_n_s_per_m: against the approach of the device, 0 to 4 N s/m.
        friction: coefficient of a contact that sticks, 0 to 2. None: `Render.friction`.
        friction_dynamic: coefficient of a contact that slips fast, at most `friction`. None: the
            same as `friction`.
        stribeck_velocity_m_s: speed at which the coefficient falls from static to dynamic, 0.0001 to 10 m/s.
    """

    stiffness_n_per_m: float | None = None
    damping_n_s_per_m: float = 0.0
    friction: float | None = None
    friction_dynamic: float | None = None
    stribeck_velocity_m_s: float = 0.01


def table(
    materials: Material | Sequence[Material], triangle_materials: npt.ArrayLike | None
) -> tuple[list[Material], npt.NDArray[np.uint8]]:
    """Returns the materials as a list, and the index of each triangle's material.

    Raises:
        ValueError: a triangle's material is no index, or a number is missing.
    """
    each = [materials] if isinstance(materials, Material) else list(materials)
    for material in each:
        if material.stiffness_n_per_m == 0:
            raise ValueError("stiffness_n_per_m is 0, expected 1 to 100000, or None for a rigid tissue")
        if material.friction is None and material.friction_dynamic is not None:
            raise ValueError("friction_dynamic has a value and friction has none")
    of_triangles = indices([] if triangle_materials is None else triangle_materials, "triangle_materials")
    if of_triangles.size and of_triangles.max() > 0xFF:
        raise ValueError(f"triangle_materials goes up to {of_triangles.max()}, expected at most 255")
    return each, of_triangles.astype(np.uint8)


def feel(materials: Material | Sequence[Material], triangle_materials: npt.ArrayLike | None) -> dict[str, Any]:
    """Returns the fields of `Feel`. Raises as `table` does."""
    each, of_triangles = table(materials, triangle_materials)
    return {"materials": [_fields(material) for material in each], "triangle_materials": of_triangles.tobytes()}


def _fields(material: Material) -> dict[str, Any]:
    fields = {
        "stiffness_n_per_m": material.stiffness_n_per_m or 0.0,
        "damping_n_s_per_m": material.damping_n_s_per_m,
    }
    if material.friction is None:
        return fields
    friction = {
        "static_coefficient": material.friction,
        "stribeck_velocity_m_s": material.stribeck_velocity_m_s,
    }
    if material.friction_dynamic is not None:
        friction["dynamic_coefficient"] = material.friction_dynamic
    return {**fields, "friction": friction}
