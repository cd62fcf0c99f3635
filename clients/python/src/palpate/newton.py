"""Contacts of a soft body with rigid bodies in Newton, with forces: Newton's own sensor has those of rigid pairs only.

`SoftContacts(force=...)` chooses one of three forces:

- `"solver"`: the force that Newton's VBD solver applied in its own contacts, of its observable `CONTACT_F`.
- `"penalty"`: depth of each of Palpate's contacts times a stiffness, summed over the contacts.
- `"proxy"`: the force of the spring between a body and its proxy. The proxy is the body where it would be if it had
  stopped at the tissue. This force needs no contact in the solver: `coupled` applies it to both sides.

    with SoftContacts(scene, model, "probe", state=state_0) as contacts:
        for _ in range(steps):
            contacts.update(state_0)
            state_0.clear_forces()
            with contacts.coupled(state_0, dt):
                solver.step(state_0, state_1, control, None, dt)
            state_0, state_1 = state_1, state_0

Needs Newton 1.8 or newer. Each update copies positions and forces of a model on a GPU; on the CPU it reads them where
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import newton
import numpy as np
import numpy.typing as npt
import warp as wp

from . import answers
from .binding import bind
from .loop_options import Render, Report
from .mesh import Link, MeshLike
from .pose import Pose
from .scene import Scene

Array = npt.NDArray[np.float64]
# Share of a tool's load that a particle counts with in the next step, while others bear the load, and what the implicit
# spring's stiffness is multiplied by. A contact goes from facet to facet, and has to find the next particles as heavy.
# A ball of 500 N/m pressed into a block without damping at 120 Hz: 0.321 N +- 0.006; with (0, 1) 0.5 N +- 1; explicit,
# as a load that acts a step late, 1.4 N +- 1.6.
_SHARE_KEPT, _STIFFNESS_FACTOR = 0.9, 2.0


@dataclass(frozen=True)
class ParticleContacts:
    """Contacts of one step, as parallel arrays.

    Attributes:
        bodies: `(n,)`, bodies of the model.
        particles: `(n, 3)`, corners of the triangle touched; with a surface of its own `(n, 12)`, the corners of the
            tetrahedra that carry them, in which one may be named twice.
        weights: of these particles at the contact's point, sum 1.
        points_m: `(n, 3)`, points on the soft body.
        normals: `(n, 3)`, from the soft body to the rigid one.
        signed_distance_m: `(n,)`, negative inside.
    """

    bodies: npt.NDArray[np.int64]
    particles: npt.NDArray[np.int64]
    weights: Array
    points_m: Array
    normals: Array
    signed_distance_m: Array


class SoftContacts:
    """Contacts of a soft body with rigid bodies: the arrays of `newton.sensors.SensorContact`, without friction apart.

    Attributes:
        tissue: the soft body's surface. Its vertices are those of `surface`, or the model's particles: then ids in
            answers are Newton's.
        tools: rigid bodies, in the order of `sensing_indices`; a link for each of their shapes.
        answers: Palpate's answers of the last `update`: of a rendered tick, or of a query for each tool.
        sensing_indices: bodies of the model, ascending. One row of the arrays below for each.
        sensing_transforms: `(n,)`, scene frame from body frame.
        total_force: `(n,)` vectors, newtons: force on each body, of the chosen kind.
        force_matrix: `(n, 1)` vectors: the same force; the soft body is the only counterpart.
        position_matrix: `(n, 1)` vectors: mean of the contacts' points on the soft body, weighted by force.
    """

    sensing_type = "body"

    def __init__(
        self,
        scene: Scene,
        model: Any,
        bodies: str | int | Sequence[str | int],
        *,
        state: Any = None,
        elements: npt.ArrayLike | None = None,
        surface: MeshLike | None = None,
        force: Literal["solver", "penalty", "proxy"] = "proxy",
        stiffness_n_per_m: float = 500.0,
        render: Mapping[str, Any] | None = None,
        name: str = "soft body",
        report: Report | None = None,
    ) -> None:
        """Adds a tissue and a tool for each body to a scene, whose frame is Newton's world, and opens a loop.

        Args:
            model: `newton.Model`, in metres.
            bodies: indices of bodies, or patterns of their labels (`"gripper*"`).
            state: `newton.State` with the first positions. None: the model's.
            elements: `(m, 4)` tetrahedra or `(m, 3)` triangles of particles: the soft body. None: the model's
                tetrahedra, or its triangles if it has none.
            surface: positions and triangles of a surface in the tetrahedra, which moves with them, when the particles
                are where `state` has them. None: the boundary of the elements.
            force: the kind of force that is reported.
            stiffness_n_per_m: of the spring to the proxy, or of each contact of `"penalty"`.
            render: further options of `palpate.Render`, such as `friction`. A body is held at its centre of mass unless
                `hold_point_m` names another point in its frame.
            name: name of the tissue; names of the tools begin with it.
            report: contents of the answers. None: at most 1,000 contacts for each shape.

        Raises:
            ValueError: no body has such a label, a shape has no surface that Palpate can take, or there are no
                tetrahedra to carry `surface`.
            Refused: the scene refuses a mesh.
        """
        if force not in ("solver", "penalty", "proxy"):
            raise ValueError(f"force is {force!r}, expected 'solver', 'penalty' or 'proxy'")
        self._scene, self._model, self._force, self._stiffness = scene, model, force, stiffness_n_per_m
        self._report = report or Report(max_contacts=1000)
        self.sensing_indices = _bodies(model, bodies)
        cells, links = _elements(model, elements), [_links(model, body) for body in self.sensing_indices]
        _check_world(model, cells, self.sensing_indices)
        positions = (model if state is None else state).particle_q.numpy()
        self._n_particles, n = len(positions), len(self.sensing_indices)
        # Without a surface of its own, each vertex is a particle.
        self._carriers, self._weights = np.arange(self._n_particles)[:, None], np.ones((self._n_particles, 1))
        binding = None
        if surface is not None:
            if cells.shape[1] != 4:
                raise ValueError("surface needs tetrahedra that carry it, and the elements are triangles")
            binding = bind(surface, positions, cells)
            self._carriers, self._weights = np.asarray(binding.ids), np.asarray(binding.weights)
        self._is_driven, self._columns = binding is not None, 3 * self._carriers.shape[1]
        with ExitStack() as added:
            self.tissue = scene.add_tissue(name, (positions, cells) if surface is None else surface, binding=binding)
            added.callback(self.tissue.remove)
            # A triangle's id is its row: a tissue that was just added has lost none.
            self._triangles = self.tissue.export().triangles.astype(np.int64)
            self.tools = []
            for body, parts in zip(self.sensing_indices, links, strict=True):
                self.tools.append(scene.add_tool(f"{name} {body} {model.body_label[body]}"[:64], parts))
                added.callback(self.tools[-1].remove)
            self._loop = None
            if force == "proxy":
                options = {"stiffness_n_per_m": stiffness_n_per_m, "tissue_loads": True, **(render or {})}
                centres = model.body_com.numpy()[self.sensing_indices]
                renders = [
                    Render(tool, **{"hold_point_m": tuple(centre), **options})
                    for tool, centre in zip(self.tools, centres, strict=True)
                ]
                self._loop = scene.track(self.tools, render=renders, report=self._report)
                added.callback(self._loop.close)
            self._added = added.pop_all()
        # By tool and particle: load, the greatest share of the tool's load lately, and its direction.
        self._loads = np.zeros((len(self.tools), self._n_particles, 3))
        self._directions = np.zeros_like(self._loads)
        self._shares = np.zeros(self._loads.shape[:2])
        self.answers: list[answers.TrackResponse | answers.QueryContactsResponse] = []
        self._renderings: Sequence[answers.Rendering] = []
        self.total_force = wp.zeros(n, dtype=wp.vec3, device=model.device)
        self.force_matrix = wp.zeros((n, 1), dtype=wp.vec3, device=model.device)
        self.position_matrix = wp.zeros((n, 1), dtype=wp.vec3, device=model.device)
        self.sensing_transforms = wp.zeros(n, dtype=wp.transform, device=model.device)

    def update(self, state: Any, observables: Any = None) -> None:
        """Moves the soft body and the rigid ones to a state, and waits for the answer about it.

        Args:
            state: `newton.State`.
            observables: with `CONTACT_F`, of the step that made the state, for `force="solver"`.
        """
        if self._force == "solver" and observables is None:
            raise ValueError("force='solver' needs the observables of the step that made the state")
        particles = state.particle_q.numpy()
        if self._is_driven:
            self.tissue.deform(controls=particles)
        else:
            self.tissue.deform(particles)
        poses = state.body_q.numpy()[self.sensing_indices]
        self.sensing_transforms.assign(poses)
        at = {tool: Pose(pose[:3], pose[3:]) for tool, pose in zip(self.tools, poses, strict=True)}
        if self._loop is not None:
            answer = self._loop.tick(at)
            self.answers, self._renderings = [answer], answer.renderings
            for number, rendering in enumerate(answer.renderings):
                self._take(number, rendering)
            self._put([self._on_tool(rendering) for rendering in answer.renderings])
            return
        # A query has the time that it takes; a tick ends with the server's limit.
        self.answers = [self._scene.query_contacts(tool, pose, report=self._report) for tool, pose in at.items()]
        if self._force == "penalty":
            found = self.contacts()
            forces = np.maximum(-found.signed_distance_m, 0)[:, None] * self._stiffness * found.normals
            points, bodies = found.points_m, found.bodies
        else:
            forces, points, bodies = _solver_forces(self._model, state, observables)
        self._put([(forces[bodies == body], points[bodies == body]) for body in self.sensing_indices])

    @property
    def is_complete(self) -> bool:
        """False if an answer was cut short or left contacts out, or if a proxy is LATE or EMBEDDED: then the last
        contacts or forces lack something, and `answers` says what.
        """
        cut = answers.Flag.DEGRADED | answers.Flag.TRUNCATED
        lost = (answers.RenderState.LATE, answers.RenderState.EMBEDDED)
        is_cut = any(answer.flags & cut for answer in self.answers)
        return bool(self.answers) and not is_cut and all(one.state not in lost for one in self._renderings)

    def contacts(self) -> ParticleContacts:
        """Contacts of the last `update`: all within `Report.contact_margin_m`, by particles and weights."""
        if not self.answers:
            raise RuntimeError("there is no answer before the first update")
        columns: list[list[npt.NDArray[Any]]] = [[] for _ in range(6)]
        answered = (link for answer in self.answers for link in answer.links)
        for body, tool in zip(self.sensing_indices, self.tools, strict=True):
            for _ in tool.reports:
                found = next(answered).contacts
                is_own = found.tissue_ids == self.tissue.id
                corners, n = self._triangles[found.triangle_ids[is_own]], int(is_own.sum())
                shares = np.asarray(found.barycentric_xyz[is_own], np.float64)
                values = [np.full(n, body, np.int64), self._carriers[corners].reshape(n, self._columns)]
                values += [(shares[:, :, None] * self._weights[corners]).reshape(n, self._columns)]
                floats = (found.on_tissue_xyz_m, found.normal_xyz, found.signed_distance_m)
                values += [np.asarray(array[is_own], np.float64) for array in floats]
                for column, value in zip(columns, values, strict=True):
                    column.append(value)
        return ParticleContacts(*(np.concatenate(column) for column in columns))

    def loads_n(self) -> Array:
        """Loads of the proxies on the particles, `(n_particles, 3)`, newtons."""
        loads: Array = self._loads.sum(axis=0)
        return loads

    @contextmanager
    def coupled(self, state: Any, dt: float) -> Iterator[None]:
        """Adds the proxies' forces to `particle_f` and `body_f` of a state for one step of the solver.

        The forces on the two sides are opposite, and so are their moments.

        A load acts a step late, and a particle is so light that it has gone too far by then: an explicit spring swings
        where `stiffness * dt ** 2` is more than the mass it moves. So the spring is implicit. A particle that moves by
        `d` along its load in the step changes that load by `-stiffness d`, which is the same as a particle heavier by
        `stiffness * dt ** 2` and as much slower in that direction. The masses are taken back after the step: at rest
        they change nothing, in motion they brake the particles under the load.

        The bodies' side is explicit: a body that moves freely should be heavier than `stiffness * dt ** 2`.
        """
        if self._force != "proxy":
            raise RuntimeError(f"force is {self._force!r}: the solver's own contacts act, expected 'proxy'")
        if not self.answers:
            raise RuntimeError("there is no answer before the first update")
        model = self._model
        mass, inverse = model.particle_mass.numpy().copy(), model.particle_inv_mass.numpy().copy()
        added = _STIFFNESS_FACTOR * self._stiffness * dt**2 * np.where(inverse > 0, self._shares, 0)
        heavier = mass + added.sum(axis=0)
        velocities = state.particle_qd.numpy().astype(np.float64)
        for tool in range(len(self.tools)):
            at = np.flatnonzero(added[tool])
            pressed = self._directions[tool, at]
            along = (velocities[at] * pressed).sum(axis=1, keepdims=True) * pressed
            velocities[at] -= (added[tool, at] / heavier[at])[:, None] * along
        # The last entry is that of particles of no world, whose number is -1. The added mass has no weight.
        gravity = model.gravity.numpy()[model.particle_world.numpy()]
        loads = self.loads_n() - added.sum(axis=0)[:, None] * gravity
        state.particle_f.assign((state.particle_f.numpy() + loads).astype(np.float32))
        state.particle_qd.assign(velocities.astype(np.float32))
        if state.body_count:
            state.body_f.assign(self._with_reactions(state))
        lighter = np.divide(1, heavier, out=inverse.astype(np.float64), where=inverse > 0)
        try:
            model.particle_mass.assign(heavier.astype(np.float32))
            model.particle_inv_mass.assign(lighter.astype(np.float32))
            yield
        finally:
            model.particle_mass.assign(mass)
            model.particle_inv_mass.assign(inverse)

    def close(self) -> None:
        """Ends the loop, and removes the tissue and the tools."""
        self._added.close()

    def __enter__(self) -> SoftContacts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, tool: int, rendering: answers.Rendering) -> None:
        load = np.zeros((self._n_particles, 3))
        for one in rendering.tissue_loads:
            if one.tissue_id == self.tissue.id:
                if self._is_driven:
                    load[one.control_ids] += one.control_force_xyz_n
                else:
                    load[one.vertex_ids] += one.force_xyz_n
        self._loads[tool] = load
        sizes = np.linalg.norm(load, axis=1)
        at = np.flatnonzero(sizes)
        self._shares[tool] *= _SHARE_KEPT
        self._shares[tool, at] = np.maximum(self._shares[tool, at], sizes[at] / sizes.sum())
        self._directions[tool, at] = load[at] / sizes[at, None]

    def _on_tool(self, rendering: answers.Rendering) -> tuple[Array, Array]:
        is_own = rendering.contact_tissue_ids == self.tissue.id
        return rendering.contact_force_xyz_n[is_own].astype(float), rendering.contact_xyz_m[is_own].astype(float)

    def _with_reactions(self, state: Any) -> npt.NDArray[np.float32]:
        """`state.body_f` with the opposite of the loads, at their points: force and torque about the centre of mass."""
        forces: npt.NDArray[np.float32] = state.body_f.numpy().copy()
        points, poses, centres = state.particle_q.numpy(), state.body_q.numpy(), self._model.body_com.numpy()
        for body, load in zip(self.sensing_indices, self._loads, strict=True):
            centre = (Pose(poses[body, :3], poses[body, 3:]) @ Pose(centres[body])).position_m
            forces[body, :3] -= load.sum(axis=0)
            forces[body, 3:] -= np.cross(points - centre, load).sum(axis=0)
        return forces

    def _put(self, acting: Sequence[tuple[Array, Array]]) -> None:
        """Fills the sensor's arrays from the forces on each body and their points."""
        totals = np.array([forces.sum(axis=0) for forces, _ in acting])
        means = np.zeros_like(totals)
        for row, (forces, points) in enumerate(acting):
            sizes = np.linalg.norm(forces, axis=1)
            if sizes.any():
                means[row] = sizes @ points / sizes.sum()
        self.total_force.assign(totals)
        self.force_matrix.assign(totals[:, None])
        self.position_matrix.assign(means[:, None])


def _solver_forces(model: Any, state: Any, observables: Any) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Returns forces on bodies, their points on the soft body, and the bodies, one for each soft contact of Newton."""
    contacts = observables.contacts
    n = min(int(contacts.soft_contact_count.numpy()[0]), contacts.soft_contact_max)
    # Rows of the soft contacts follow those of the rigid ones.
    forces = observables.contact_f.numpy()[contacts.rigid_contact_max :][:n, :3].astype(float)
    corners = contacts.soft_contact_indices.numpy()[:n]
    weights = np.where(corners >= 0, contacts.soft_contact_barycentric.numpy()[:n], 0)
    points = (weights[..., None] * state.particle_q.numpy()[corners]).sum(axis=1)
    return forces, points, model.shape_body.numpy()[contacts.soft_contact_shape.numpy()[:n]].astype(np.int64)


def _bodies(model: Any, bodies: str | int | Sequence[str | int]) -> list[int]:
    wanted = [bodies] if isinstance(bodies, (str, int)) else list(bodies)
    found: set[int] = set()
    for one in wanted:
        if isinstance(one, str):
            matches = {i for i, label in enumerate(model.body_label) if fnmatchcase(label, one)}
        else:
            matches = {one} & set(range(model.body_count))
        if not matches:
            raise ValueError(f"the model has no body {one!r}, expected one of {list(model.body_label)} or an index")
        found |= matches
    return sorted(found)


def _elements(model: Any, elements: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
    if elements is None:
        indices = model.tet_indices if model.tet_count else model.tri_indices
        elements = [] if indices is None else indices.numpy()
    found = np.asarray(elements, np.int64)
    if len(found) == 0:
        raise ValueError("the model has neither tetrahedra nor triangles of particles")
    return found


def _check_world(model: Any, elements: npt.NDArray[np.int64], bodies: Sequence[int]) -> None:
    """Replicas of a body in several worlds lie at one place: they are not one surface."""
    worlds = {*model.particle_world.numpy()[elements].ravel().tolist(), *model.body_world.numpy()[bodies].tolist()}
    if len(worlds - {-1}) > 1:
        raise ValueError(f"elements and bodies are of the worlds {sorted(worlds)}, expected those of one")


def _links(model: Any, body: int) -> list[Link]:
    """A link for each shape of a body that collides with something; for each if none does. Sites are no shapes."""
    types, scales = model.shape_type.numpy(), model.shape_scale.numpy()
    transforms, flags = model.shape_transform.numpy(), model.shape_flags.numpy()
    shapes = np.flatnonzero((model.shape_body.numpy() == body) & (flags & newton.ShapeFlags.SITE == 0)).tolist()
    collide = newton.ShapeFlags.COLLIDE_SHAPES | newton.ShapeFlags.COLLIDE_PARTICLES
    links = []
    for shape in [shape for shape in shapes if flags[shape] & collide] or shapes:
        mesh = _mesh(newton.GeoType(int(types[shape])), scales[shape], model.shape_source[shape])
        pose = Pose(transforms[shape, :3], transforms[shape, 3:])
        links.append(Link(f"shape {shape}", mesh, rest_pose=pose))
    if not links:
        raise ValueError(f"body {model.body_label[body]!r} has no shape")
    return links


def _mesh(kind: Any, scale: Array, source: Any) -> tuple[Array, npt.NDArray[np.int64]]:
    """Triangles of a shape, in its frame. Round shapes are within 0.15 % of their radius."""
    x, y, z = (float(value) for value in scale)
    kinds, made, along = newton.GeoType, newton.Mesh, {"up_axis": newton.Axis.Z, "segments": 64}
    fine = {"num_latitudes": 64, "num_longitudes": 64}
    if kind == kinds.SPHERE:
        mesh = made.create_sphere(x, **fine, compute_inertia=False)
    elif kind == kinds.ELLIPSOID:
        mesh = made.create_ellipsoid(x, y, z, **fine, compute_inertia=False)
    elif kind == kinds.CAPSULE:
        mesh = made.create_capsule(x, y, **along, compute_inertia=False)
    elif kind == kinds.CYLINDER:
        mesh = made.create_cylinder(x, y, **along, compute_inertia=False)
    elif kind == kinds.CONE:
        mesh = made.create_cone(x, y, **along, compute_inertia=False)
    elif kind == kinds.BOX:
        mesh = made.create_box(x, y, z, duplicate_vertices=False, compute_inertia=False)
    elif kind in (kinds.MESH, kinds.CONVEX_MESH):
        return np.asarray(source.vertices, np.float64) * scale, np.asarray(source.indices).reshape(-1, 3)
    else:
        raise ValueError(f"a shape is a {kind.name}, expected one with a closed surface")
    return np.asarray(mesh.vertices, np.float64), np.asarray(mesh.indices).reshape(-1, 3)
