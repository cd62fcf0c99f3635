//! Triangles to turn so that neighbours agree in winding and closed bodies face outwards.
//!
//! Winding can be decided across an edge with exactly two triangles, so triangles joined by such edges form *patches*,
//! each with two possible windings: the one that turns fewer triangles is chosen. A patch without a consistent winding
//! (a Moebius strip) stays unchanged. A closed patch is then turned to enclose a positive volume, unless it is the wall
//! of a cavity.

use glam::DVec3;

use super::topology::visit_edges;
use crate::geometry::{Aabb, TriangleId, TriangleMesh};

/// Rule that decides which side of a mesh is inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orientation {
    /// Closed bodies are turned to face outwards, except the walls of cavities within others.
    #[default]
    Auto,
    /// Inside is the side that most triangles of each surface face away from. A closed surface that faces inwards is
    /// the wall of a lumen: inside is all space around it.
    AsWound,
}

/// Maximum triangles visited to find the nesting of closed bodies, about a second. Beyond it (tens of thousands of
/// bodies, boxes all nested) closed bodies keep their original winding.
const NESTING_WORK_MAX: usize = 1 << 25;

/// For each triangle id: true if its winding is to be reversed. Removed triangles: `false`.
pub fn triangles_to_turn(mesh: &TriangleMesh, orientation: Orientation) -> Vec<bool> {
    let mut patches = Patches::new(mesh.triangle_id_end());
    visit_edges(mesh, |_, uses| match uses {
        [a, b] => patches.join(a.triangle, b.triangle, a.ascending == b.ascending),
        _ => uses.iter().for_each(|u| patches.mark_open(u.triangle)),
    });
    let mut turn = patches.fewest_turns(mesh);
    if orientation == Orientation::Auto {
        turn_outwards(mesh, &patches.closed_bodies(mesh), &mut turn);
    }
    turn
}

/// Disjoint sets of triangles that record whether each is wound like the root of its set.
struct Patches {
    parent: Vec<u32>,
    /// True if wound against its parent.
    against: Vec<bool>,
    size: Vec<u32>,
    /// For roots: some edge does not have exactly two triangles.
    open: Vec<bool>,
    /// For roots: there is no consistent winding.
    one_sided: Vec<bool>,
}

impl Patches {
    fn new(n: u32) -> Patches {
        let all_false = vec![false; n as usize];
        Patches {
            parent: (0..n).collect(),
            against: all_false.clone(),
            size: vec![1; n as usize],
            open: all_false.clone(),
            one_sided: all_false,
        }
    }

    /// Returns the root, and true if `t` is wound against it. Joining the smaller set to the larger keeps the path to
    /// log2(n) steps.
    fn root(&self, t: TriangleId) -> (usize, bool) {
        let (mut at, mut against) = (t.0 as usize, false);
        while self.parent[at] as usize != at {
            against ^= self.against[at];
            at = self.parent[at] as usize;
        }
        (at, against)
    }

    fn join(&mut self, a: TriangleId, b: TriangleId, against: bool) {
        let ((root_a, a_against), (root_b, b_against)) = (self.root(a), self.root(b));
        let roots_against = against ^ a_against ^ b_against;
        if root_a == root_b {
            self.one_sided[root_a] |= roots_against;
            return;
        }
        // The smaller set is attached below the larger, which keeps paths to a root logarithmic.
        let (to, from) = if self.size[root_a] >= self.size[root_b] {
            (root_a, root_b)
        } else {
            (root_b, root_a)
        };
        self.parent[from] = to as u32;
        self.against[from] = roots_against;
        self.size[to] += self.size[from];
        self.open[to] |= self.open[from];
        self.one_sided[to] |= self.one_sided[from];
    }

    fn mark_open(&mut self, t: TriangleId) {
        let (root, _) = self.root(t);
        self.open[root] = true;
    }

    fn fewest_turns(&self, mesh: &TriangleMesh) -> Vec<bool> {
        let mut n_against = vec![0u32; self.parent.len()];
        for t in mesh.triangle_ids() {
            let (root, against) = self.root(t);
            n_against[root] += u32::from(against);
        }
        let mut turn = vec![false; self.parent.len()];
        for t in mesh.triangle_ids() {
            let (root, against) = self.root(t);
            // The root's winding depends on the order of joins; the majority's winding is kept.
            let root_is_in_the_minority = 2 * n_against[root] > self.size[root];
            turn[t.0 as usize] = !self.one_sided[root] && (against ^ root_is_in_the_minority);
        }
        turn
    }

    /// Triangles of each patch that encloses something, ascending. A triangle that names a vertex twice has no edges
    /// and is in no patch.
    fn closed_bodies(&self, mesh: &TriangleMesh) -> Vec<Vec<TriangleId>> {
        let mut body_of_root = vec![usize::MAX; self.parent.len()];
        let mut bodies: Vec<Vec<TriangleId>> = Vec::new();
        for t in mesh.triangle_ids() {
            let (root, _) = self.root(t);
            if self.open[root] || self.one_sided[root] || self.size[root] == 1 {
                continue;
            }
            if body_of_root[root] == usize::MAX {
                body_of_root[root] = bodies.len();
                bodies.push(Vec::new());
            }
            bodies[body_of_root[root]].push(t);
        }
        bodies
    }
}

/// Turns closed bodies with negative volume, given windings that agree within each.
///
/// A body inside another may be the wall of a cavity, which faces inwards: at odd depth both windings have a meaning
/// (cavity, or solid within a solid), so nothing is decided there. If the outermost body has to be turned, the whole
/// file is inside out, and the bodies within it are turned with it.
fn turn_outwards(mesh: &TriangleMesh, bodies: &[Vec<TriangleId>], turn: &mut [bool]) {
    let mut inside_out: Vec<bool> = bodies.iter().map(|b| volume(mesh, b, turn) < 0.0).collect();
    if !inside_out.contains(&true) {
        return;
    }
    let Some(containers) = containers(mesh, bodies, turn) else { return };
    let outermost_turned = inside_out.clone();
    for (body, around) in containers.iter().enumerate() {
        let with_its_outermost =
            around.iter().any(|o| containers[*o].is_empty() && outermost_turned[*o]);
        inside_out[body] ^= with_its_outermost;
        // At odd depth both windings have a meaning, so only even depths are turned.
        let turn_itself = inside_out[body] && around.len().is_multiple_of(2);
        if with_its_outermost ^ turn_itself {
            bodies[body].iter().for_each(|t| turn[t.0 as usize] ^= true);
        }
    }
}

/// For each body the bodies that contain it, by the winding number of each at one of its vertices. `None` if the search
/// would take too long.
fn containers(
    mesh: &TriangleMesh,
    bodies: &[Vec<TriangleId>],
    turn: &[bool],
) -> Option<Vec<Vec<usize>>> {
    let box_of = |body: &Vec<TriangleId>| {
        body.iter().fold(Aabb::EMPTY, |b, t| b.union(&mesh.triangle_box(*t)))
    };
    let boxes: Vec<Aabb> = bodies.iter().map(box_of).collect();
    let mut work = 0;
    let mut containers = vec![Vec::new(); bodies.len()];
    for (inner, around) in containers.iter_mut().enumerate() {
        let vertex = mesh.triangle(bodies[inner][0])[0];
        for (outer, triangles) in bodies.iter().enumerate() {
            work += 1;
            // A body within another has its box in the other's: most pairs end here.
            if outer != inner && boxes[outer].contains(&boxes[inner]) {
                work += triangles.len();
                if winding_number(mesh, triangles, turn, vertex).abs() > 0.5 {
                    around.push(outer);
                }
            }
            // Given up for all bodies and not only for some: half a decision would turn a cavity's wall and not its
            // body.
            if work > NESTING_WORK_MAX {
                return None;
            }
        }
    }
    Some(containers)
}

/// Six times the signed volume, cubic metres, about one of the body's vertices, so that little cancels.
fn volume(mesh: &TriangleMesh, body: &[TriangleId], turn: &[bool]) -> f64 {
    // Relative to a vertex of the body and not the origin: far from it volumes cancel to nothing.
    let origin = mesh.triangle(body[0])[0];
    body.iter()
        .map(|t| {
            let [a, b, c] = mesh.triangle(*t).map(|p| p - origin);
            let v = a.dot(b.cross(c));
            if turn[t.0 as usize] { -v } else { v }
        })
        .sum()
}

/// Winding number of the body around `p`, metres. Solid angles: Van Oosterom and Strackee, 1983, formula 8.
fn winding_number(mesh: &TriangleMesh, body: &[TriangleId], turn: &[bool], p: DVec3) -> f64 {
    let half_angles: f64 = body
        .iter()
        .map(|t| {
            let [a, b, c] = mesh.triangle(*t).map(|q| q - p);
            let (la, lb, lc) = (a.length(), b.length(), c.length());
            let y = a.dot(b.cross(c));
            let x = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
            if turn[t.0 as usize] { -y.atan2(x) } else { y.atan2(x) }
        })
        .sum();
    half_angles / std::f64::consts::TAU
}
