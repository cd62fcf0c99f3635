"""A liver that MuJoCo moves, pressed, held, dragged over and let go, in lock-step.

`PALPATE_TEST_SCALE` makes it go round that often; `PALPATE_FILM` is where a film of it goes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import make_liver
import numpy as np
import pytest
from support import ServerProgram

import palpate
from palpate import RenderState

pytest.importorskip("mujoco", reason="MuJoCo is not installed: it has no wheel for every machine")
pytest.importorskip("matplotlib", reason="Matplotlib is not installed")

import mujoco  # noqa: E402
import mujoco_liver  # noqa: E402
from mujoco_liver import BALL_RADIUS_M, STIFFNESS_N_PER_M, TOTAL_S  # noqa: E402

from palpate.mujoco import Flex  # noqa: E402

# Maximum depth of a vertex of the proxy in a tetrahedron. The proxy touches the tissue, whose positions are rounded to
# 32 bits for Palpate (6e-9 m at 0.1 m); the rest is the tolerance of the ball's field, a thousandth of its diagonal of
# 28 mm.
DEPTH_MAX_M = 28e-6
# File of MuJoCo's warnings, in the working directory.
LOG = "MUJOCO_LOG.TXT"


def inside(points: np.ndarray, nodes: np.ndarray, tetrahedra: np.ndarray) -> np.ndarray:
    """Which of the points are in one of the tetrahedra, by barycentric weights."""
    corners = nodes[tetrahedra]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    weights = np.einsum("tij,tpj->tpi", np.linalg.inv(edges), points[None] - corners[:, None, 0])
    found: np.ndarray = ((weights.min(axis=2) >= 0) & (weights.sum(axis=2) <= 1)).any(axis=0)
    return found


def distance_m(point: np.ndarray, corners: np.ndarray) -> float:
    """From a point to the nearest of the triangles `(n, 3, 3)`: to their planes where it is above them, else to their
    edges.
    """
    a, along = corners, np.roll(corners, -1, axis=1) - corners
    normal = np.cross(along[:, 0], along[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    is_above = (np.einsum("tej,tej->te", np.cross(normal[:, None], along), point - a) >= 0).all(axis=1)
    to_planes = np.abs(np.einsum("tj,tj->t", normal, point - a[:, 0]))
    at = np.clip(np.einsum("tej,tej->te", point - a, along) / (along**2).sum(axis=2), 0, 1)
    to_edges = np.linalg.norm(a + at[..., None] * along - point, axis=2)
    return float(min(to_edges.min(), to_planes[is_above].min(initial=np.inf)))


def depth_m(points: np.ndarray, nodes: np.ndarray, tetrahedra: np.ndarray, surface: np.ndarray) -> float:
    """How deep the deepest of the points is in the body; 0 when none is inside."""
    corners = nodes[tetrahedra]
    meets = (corners.min(axis=1) <= points.max(axis=0)) & (corners.max(axis=1) >= points.min(axis=0))
    near = tetrahedra[meets.all(axis=1)]
    within = points[inside(points, nodes, near)]
    return max((distance_m(point, surface) for point in within), default=0.0)


class Ball:
    """The probe: how deep tissue is in it."""

    def __init__(self) -> None:
        self.points, triangles = mujoco_liver.ball(BALL_RADIUS_M)
        a, b, c = np.moveaxis(self.points[triangles], 1, 0)
        normals = np.cross(b - a, c - a)
        self._normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        self._offsets = (self._normals * a).sum(axis=1)

    def depth_m(self, points: np.ndarray, centre: np.ndarray) -> float:
        """Of the deepest of the points; 0 when none is inside. It is convex: the nearest plane is the nearest side."""
        away = points - centre
        near = away[(np.abs(away) < BALL_RADIUS_M).all(axis=1)]
        depths = (self._offsets - near @ self._normals.T).min(axis=1)
        return float(depths.max(initial=0.0))


def along_edges(surface_m: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The vertices of a surface and seven points on each of its edges, which are longer than the ball."""
    a, b = surface_m[edges[:, :1]], surface_m[edges[:, 1:]]
    points: np.ndarray = (a + np.linspace(0, 1, 9)[:, None] * (b - a)).reshape(-1, 3)
    return points


def test_the_oracle_of_depth_knows_a_tetrahedron() -> None:
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    body, surface = np.array([[0, 1, 2, 3]]), nodes[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    for point, depth in [
        ([0.1, 0.2, 0.3], 0.1),
        ([0.3, 0.3, 0.3], 0.1 / np.sqrt(3)),
        ([0.4, 0.4, 0.4], 0.0),
        ([-0.1, 0.1, 0.1], 0.0),
    ]:
        assert depth_m(np.array([point]), nodes, body, surface) == pytest.approx(depth)
    # Distances to an edge and to a corner.
    assert distance_m(np.array([0.5, -3, -4]), surface) == pytest.approx(5)
    assert distance_m(np.array([0, 0, 3.0]), surface) == pytest.approx(2)


def test_the_oracle_of_depth_knows_the_ball() -> None:
    ball = Ball()
    centre, down = np.array([0.1, 0.2, 0.3]), np.array([0, 0, -1])
    # The ball's poles are vertices, and the faces there form a cone.
    assert ball.depth_m(np.array([centre + BALL_RADIUS_M * down]), centre) < 1e-9
    assert ball.depth_m(np.array([centre, centre + 0.007 * down]), centre) == pytest.approx(BALL_RADIUS_M, rel=0.02)
    assert ball.depth_m(np.array([centre + 0.007 * down]), centre) == pytest.approx(0.001, rel=0.02)
    assert ball.depth_m(np.array([centre + 0.0081 * down, centre + 1]), centre) == 0
    surface, edges = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0.0]]), np.array([[0, 1], [1, 2]])
    points = along_edges(surface, edges)
    assert len(points) == 18 and [0.125, 0, 0] in points.tolist() and [0.5, 1, 0] in points.tolist()


def test_what_mujoco_warns_of_is_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next test takes its absence for no warnings."""
    monkeypatch.chdir(tmp_path)
    body = '<body><freejoint/><geom size="1"/></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.xfrc_applied[1] = np.nan
    mujoco.mj_step(model, data)
    assert "unstable" in (tmp_path / LOG).read_text()


def test_the_file_is_what_its_script_makes() -> None:
    points, tetrahedra = make_liver.liver()
    assert make_liver.volumes(points, tetrahedra).min() > 0
    lines = Path(make_liver.__file__).with_name("liver.msh").read_text().splitlines()
    nodes = np.loadtxt(lines[lines.index("$Nodes") + 2 : lines.index("$EndNodes")])[:, 1:]
    elements = np.loadtxt(lines[lines.index("$Elements") + 2 : lines.index("$EndElements")], dtype=int)[:, 5:]
    # The file has five decimal places.
    assert np.abs(nodes - points).max() <= 0.51e-5
    assert np.array_equal(elements - 1, tetrahedra)


# Flexes of MuJoCo: every kind of freedom, in one and in several cells, and a sheet.
FLEXES = [
    'dim="3" count="4 5 6"',
    'dim="3" count="4 4 8" dof="radial"',
    'dim="3" count="4 5 6" dof="trilinear"',
    'dim="3" count="4 5 6" dof="quadratic"',
    'dim="3" count="4 5 6" dof="trilinear" cellcount="2 2 2"',
    'dim="3" count="4 5 6" dof="quadratic" cellcount="2 1 3"',
    'dim="3" count="4 5 6" rigid="true"',
    'dim="2" count="4 5 1"',
]


def flex_model(attributes: str, inner: str = "") -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A grid of 2 cm cells, turned and away from the origin."""
    grid = f'type="grid" spacing=".02 .02 .02" name="block" mass=".5" radius=".001" {attributes}'
    xml = f"""
      <mujoco>
        <option integrator="discrete" solver="Newton" timestep="{mujoco_liver.STEP_S}" gravity="0 0 0"/>
        <worldbody>
          <body name="parent" pos=".1 .2 .3" euler="0 0 30"><flexcomp {grid}>{inner}</flexcomp></body>
        </worldbody>
      </mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("attributes", FLEXES)
def test_a_flex_is_its_boundary_and_bears_force_and_moment(program: ServerProgram, attributes: str) -> None:
    model, data = flex_model(attributes)
    with palpate.connect(program.address) as server, server.create_scene("flex", replace=True) as scene:
        flex = Flex(scene, model, data)
        triangles = flex.tissue.export().triangles
        faces = model.flex_shell.reshape(-1, 3) if model.flex_dim[0] == 3 else flex.elements
        assert {frozenset(t) for t in triangles.tolist()} == {frozenset(t) for t in faces.tolist()}
        assert len(triangles) == len(faces)
        if model.flex_dim[0] == 3:
            assert flex.tissue.report.closed and flex.tissue.report.reversed_triangles == 0
            # The boundary faces outwards, although MuJoCo's tetrahedra have negative volumes.
            assert (np.linalg.det(np.diff(flex.positions_m[flex.elements], axis=1)) < 0).any()
            assert flex.tissue.report.volume_m3 == pytest.approx(abs(volumes(flex)).sum(), rel=1e-5)
        # Loads keep force and moment, in any shape.
        random = np.random.default_rng(46)
        for _ in range(20):
            data.qpos[: model.nq] += 1e-3 * random.normal(size=model.nq)
            mujoco.mj_forward(model, data)
            loads = random.normal(size=flex.positions_m.shape)
            flex.apply_loads(loads)
            forces, torques = data.xfrc_applied[:, :3], data.xfrc_applied[:, 3:]
            moment = np.cross(flex.positions_m, loads).sum(axis=0)
            assert forces.sum(axis=0) == pytest.approx(loads.sum(axis=0), abs=1e-12)
            assert (torques + np.cross(data.xipos, forces)).sum(axis=0) == pytest.approx(moment, abs=1e-12)
        # Another body's force stays.
        assert not data.xfrc_applied[0].any()
        with pytest.raises(ValueError, match=r"loads_n has the shape \(3,\), expected"):
            flex.apply_loads([0, 0, 1])


def volumes(flex: Flex) -> np.ndarray:
    edges = np.diff(flex.positions_m[flex.elements], axis=1)
    found: np.ndarray = np.linalg.det(edges) / 6
    return found


def test_a_flex_that_is_not_there_is_named(program: ServerProgram) -> None:
    model, data = flex_model('dim="1" count="5 1 1"')
    with palpate.connect(program.address) as server, server.create_scene("flex", replace=True) as scene:
        with pytest.raises(ValueError, match=r"no flex 'liver', expected one of \['block'\]"):
            Flex(scene, model, data, "liver")
        with pytest.raises(ValueError, match="has 1 dimension, expected a sheet or a solid"):
            Flex(scene, model, data, "block")


@pytest.mark.parametrize("dof", ["full", "trilinear", "quadratic"])
def test_a_pressed_flex_yields_bears_the_force_and_comes_back(program: ServerProgram, dof: str) -> None:
    # The lowest layer of vertices, or of nodes, is pinned; z runs fastest.
    n_layers = {"full": 5, "trilinear": 2, "quadratic": 3}[dof]
    pinned = " ".join(str(n_layers * i) for i in range(n_layers**2))
    soft = '<elasticity young="2e4" poisson="0.2" damping="0.02"/>'
    inner = f'{soft}<contact contype="0" conaffinity="0" selfcollide="none"/><pin id="{pinned}"/>'
    model, data = flex_model(f'dim="3" count="5 5 5" dof="{dof}"', inner)
    with palpate.connect(program.address) as server, server.create_scene("flex", replace=True) as scene:
        flex = Flex(scene, model, data)
        rest = flex.positions_m.copy()
        top = rest.max(axis=0)[2]
        probe = scene.add_tool("probe", mujoco_liver.ball(BALL_RADIUS_M))
        render = palpate.Render(probe, stiffness_n_per_m=STIFFNESS_N_PER_M, friction=0.3, tissue_loads=True)
        hand, spring, moving, dragging = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
        # Pressed 3 mm in, held, dragged 4 mm along x, and lifted.
        depths = [np.linspace(-1e-3, 3e-3, 200), np.full(500, 3e-3), np.full(400, -5e-3)]
        along = [np.zeros(500), np.linspace(2e-5, 4e-3, 200), np.full(400, 4e-3)]
        with scene.track([probe], render=[render]) as loop:
            for x, depth_m in zip(np.concatenate(along), np.concatenate(depths), strict=True):
                flex.deform()
                device = (0.1 + x, 0.2, top + BALL_RADIUS_M - depth_m)
                rendering = loop.tick(device).renderings[0]
                flex.apply([rendering])
                mujoco.mj_step(model, data)
                if x > 0 and depth_m == 3e-3:
                    dragging = rendering.force_n
                elif depth_m == 3e-3:
                    hand, spring = rendering.force_n, STIFFNESS_N_PER_M * (rendering.proxy.position_m - device)
                    loads = flex.loads_n([rendering])
                    moving = data.xfrc_applied[2:, :3].sum(axis=0)
                    # In the axes of the parent.
                    elastic = data.xmat[1].reshape(3, 3) @ data.qfrc_passive.reshape(-1, 3).sum(axis=0)
                    yielded = float(np.abs(flex.positions_m - rest).max())
        assert hand[2] > 0.3 and yielded > 2e-4, f"{hand} N, {yielded} m"
        # Friction holds the ball back, and its dent in front of it.
        assert -0.6 * dragging[2] < dragging[0] < -0.25 * dragging[2], f"{dragging} N"
        for other in (spring, -loads.sum(axis=0)):
            assert np.linalg.norm(other - hand) < 0.01 * hand[2]
        # The elasticity holds what the moving bodies bear; the pinned ones bear the rest.
        assert np.linalg.norm(elastic + moving) < 0.01 * hand[2]
        assert not data.xfrc_applied.any() and np.abs(flex.positions_m - rest).max() < 1e-5


@pytest.mark.parametrize("dof", ["full", "trilinear"])
def test_the_weight_of_a_resting_ball_is_the_sum_of_loads(program: ServerProgram, dof: str) -> None:
    n_layers = {"full": 5, "trilinear": 2}[dof]
    pinned = " ".join(str(n_layers * i) for i in range(n_layers**2))
    soft = '<elasticity young="2e4" poisson="0.2" damping="0.02"/>'
    inner = f'{soft}<contact contype="0" conaffinity="0" selfcollide="none"/><pin id="{pinned}"/>'
    model, data = flex_model(f'dim="3" count="5 5 5" dof="{dof}"', inner)
    mass, drag, dt = 0.03, 3.0, mujoco_liver.STEP_S
    weight = mass * 9.81
    with palpate.connect(program.address) as server, server.create_scene("flex", replace=True) as scene:
        flex = Flex(scene, model, data)
        probe = scene.add_tool("probe", mujoco_liver.ball(BALL_RADIUS_M))
        render = palpate.Render(probe, stiffness_n_per_m=STIFFNESS_N_PER_M, tissue_loads=True)
        # A free ball, off the middle, in place of the hand.
        at = np.array([0.104, 0.197, flex.positions_m.max(axis=0)[2] + BALL_RADIUS_M + 5e-4])
        speed = 0.0
        with scene.track([probe], render=[render]) as loop:
            for _ in range(1500):
                flex.deform()
                rendering = loop.tick(at).renderings[0]
                flex.apply([rendering])
                mujoco.mj_step(model, data)
                speed += dt * (rendering.force_n[2] - weight - drag * speed) / mass
                at[2] += dt * speed
        [load] = rendering.tissue_loads
    # The nodes bear it, or the vertices of a full flex, which are its nodes.
    borne = load.control_force_xyz_n if dof == "trilinear" else load.force_xyz_n
    for forces in (borne, flex.loads_n([rendering])):
        assert forces.sum(axis=0)[2] == pytest.approx(-weight, rel=0.01)


def test_what_the_hand_feels_is_what_the_liver_bears(
    program: ServerProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    rounds = max(1, round(float(os.environ.get("PALPATE_TEST_SCALE", "1"))))
    liver = mujoco_liver.Liver()
    rest = liver.nodes_m.copy()
    ball = Ball()
    points = np.vstack([ball.points, [0, 0, 0]])
    sides = np.vstack([liver.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    # Greatest depths for the proxy and for the hand: of its vertices in the tissue, and of the tissue's vertices and
    # edges in it.
    deepest = np.zeros((2, 2))
    moved = 0.0
    # All steps run first: without new poses during the checks below, the force would fade.
    steps = list(mujoco_liver.run(program.address, liver, rounds * TOTAL_S))
    for number, step in enumerate(steps, 1):
        moved = max(moved, float(np.abs(step.nodes_m - rest).max()))
        surface, seams = step.nodes_m[liver.triangles], along_edges(step.nodes_m, edges)
        # The proxy is checked in every step; the hand, which is inside for long, in every 20th.
        for of, at in enumerate([step.proxy_m, step.device_m] if number % 20 == 0 else [step.proxy_m]):
            depths = depth_m(points + at, step.nodes_m, liver.tetrahedra, surface), ball.depth_m(seams, at)
            deepest[of] = np.maximum(deepest[of], depths)
    (proxy_m, into_proxy_m), (hand_m, into_hand_m) = deepest
    figure(f"{len(steps)} steps of MuJoCo's liver, which moved by {1e3 * moved:.1f} mm")
    figure(f"the proxy was at most {1e6 * proxy_m:.1f} um deep in it, the hand {1e3 * hand_m:.1f} mm")
    figure(f"it was at most {1e6 * into_proxy_m:.1f} um deep in the proxy, and {1e3 * into_hand_m:.1f} mm in the hand")

    assert liver.warnings == {} and not Path(LOG).exists()
    assert max(proxy_m, into_proxy_m) <= DEPTH_MAX_M
    # The hand does penetrate: the checks would detect it.
    assert min(hand_m, into_hand_m) > 3e-3
    time_s = np.array([step.time_s % TOTAL_S for step in steps])
    hand, contacts, elastic, spring = (
        np.array(found)
        for found in (
            [step.hand_n for step in steps],
            [step.contacts_n for step in steps],
            [step.elastic_n for step in steps],
            [STIFFNESS_N_PER_M * (step.proxy_m - step.device_m) for step in steps],
        )
    )
    loads = np.array([step.loads_n.sum(axis=0) for step in steps])
    # The liver is pressed hard, yields, and the force stays within the device's limit.
    strength = np.linalg.norm(hand, axis=1)
    assert moved > 3e-3 and 1.0 < strength.max() < 3.3
    # In each step, the force on the hand, the contact forces and the load on the tissue are equal. A limited force is
    # still changing, for example after a stall of the machine.
    whole = ~np.array([step.limited for step in steps])
    figure(f"{100 * whole.mean():.1f} % of the steps had a force that was not limited")
    assert whole.mean() > 0.8
    assert np.abs(hand - contacts)[whole].max() < 0.01 * strength.max()
    assert np.abs(contacts + loads).max() < 0.01 * strength.max()
    # At rest, the spring's force and the solver's elastic force are equal to it too.
    ends = np.cumsum([mujoco_liver.PRESS_S, mujoco_liver.HOLD_S, mujoco_liver.DRAG_S, mujoco_liver.RELEASE_S])
    held = whole & (time_s > ends[1] - 0.2) & (time_s < ends[1])
    for other in (spring, elastic):
        difference = other[held].mean(axis=0) - hand[held].mean(axis=0)
        assert np.linalg.norm(difference) < 0.01 * strength[held].mean()
    # Friction acts against the drag.
    dragged = whole & (time_s > ends[2] - 0.1) & (time_s < ends[2])
    assert hand[dragged, 0].mean() < -0.05
    # After the release, force and load are zero, and the liver is as it was.
    free = time_s > ends[3] + 0.1
    assert free.sum() > 100
    assert not hand[free].any() and not loads[free].any()
    states = {state for step, is_free in zip(steps, free, strict=True) if is_free for state in step.states}
    assert states == {RenderState.FREE}
    assert np.abs(steps[-1].nodes_m - rest).max() < 0.1e-3

    wanted = os.environ.get("PALPATE_FILM")
    file = Path(wanted or tmp_path / "liver.gif")
    mujoco_liver.film(steps, liver, file, frames=30 if wanted else 4)
    assert file.read_bytes().startswith(b"GIF89a")
