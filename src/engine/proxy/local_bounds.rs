//! Bounds the radius within which a local model is complete, and the error of its planes there: for every pair of
//! triangles in reach a plane keeps the two apart, or the radius ends before that pair.
//!
//! Let a displacement move no point of the tool by more than r, to second order, and let plane i have the normal n, the
//! point T on the tissue and the tool's point c. A point b of the same link is at b + (R - 1)(b - c) + d, where d is
//! the displacement of c, and R a rotation by at most phi. With w = b - c:
//!
//! ```text
//! n.(b' - T) >= gap_i + n.w - phi |w x n| - phi^2/2 |w| - curved
//! ```
//! gap_i is the row's linear gap, and `curved` the deviation of c itself from first order. A tissue triangle all of
//! whose points a have n.(a - T) <= s is therefore kept from a link's triangle by gap_i - e, with e = s + max over b of
//! (-n.w + phi |w x n| + phi^2/2 |w|) + curved: convex in b, so corners suffice. Only parts that can come within reach
//! of each other count. If one row cannot hold all corners of a face, as on a flat patch, each corner has the row that
//! holds it best; a row with another normal m is off by |n - m| times the corner's distance.
//!
//! A pair that no plane of a contact holds, as the flank of a fold, gets a plane of its own between its closest points,
//! as long as rows are free. Nothing above requires that a plane be a contact's: both triangles lie on their sides of
//! it.

use glam::DVec3;

use super::{
    contact_plane::ContactPlane, near_contact::NearTriangles, seen_tissues::TissuesInMotion,
};
use crate::coupling::{
    local_model::used_up_s,
    posture::{LinkScrews, Posture, RENDERED_LINKS_MAX},
    quadratic_programme::ROWS_MAX,
};
use crate::geometry::{
    Pose, clipped_triangle::ClippedTriangle, distance::triangle_triangle::closest_pair,
};
use crate::scene::Tool;
use crate::time_left::TimeLeft;

/// A pair counts as held apart by rows that are wrong by at most this share of the radius. With less, the radius ends
/// at the first facet that is not flat; with more, the rows constrain little.
const ERROR_SHARE: f64 = 0.25;
/// Number of radii that are tried, each half of the one before: tissue that is uneven at a large radius is even at a
/// small one.
const HALVINGS: usize = 6;
/// Corners of a triangle cut by a box.
const CORNERS_MAX: usize = 15;

/// Surroundings of a proxy.
pub(super) struct Surroundings<'a> {
    pub(super) tool: &'a Tool,
    pub(super) posture: &'a Posture,
    pub(super) screws: &'a LinkScrews,
    pub(super) motion: TissuesInMotion<'a>,
    /// Every pair within the margin, nearest first.
    pub(super) pairs: &'a [NearTriangles],
    pub(super) margin_m: f64,
    /// Upper bound of the distance of the tool's points from its hold point, metres.
    pub(super) reach_m: f64,
    /// [`RenderOptions::force_shading_rad`](super::options::RenderOptions::force_shading_rad).
    pub(super) force_shading_rad: f64,
    pub(super) deadline: &'a TimeLeft<'a>,
}

/// Bounds of a displacement within a radius.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    radius_m: f64,
    /// Rotation phi, radians.
    turn: f64,
    curved_m: f64,
    /// Time until moving tissue has used up the radius, seconds.
    time_s: f64,
}

/// A link whose pairs are checked.
#[derive(Clone, Copy)]
struct CheckedLink {
    scene_from_link: Pose,
    /// The plane that held the link's last pair alone, which is tried first.
    likely: usize,
}

impl Surroundings<'_> {
    /// Returns the radius within which the planes are complete, metres, and sets the error of each plane there. Adds
    /// planes of pairs that no contact's plane holds.
    pub(super) fn bound(&self, planes: &mut Vec<ContactPlane>) -> f64 {
        let (mut best, mut n_best) = (0.0, planes.len());
        let mut radius = self.margin_m;
        for _ in 0..HALVINGS {
            if radius <= best {
                break;
            }
            let allowance = self.allowance(radius);
            let mut errors = [0.0; ROWS_MAX];
            let complete = self.complete(planes, &mut errors, &allowance);
            if complete > best || best == 0.0 {
                (best, n_best) = (complete, planes.len());
                for (plane, error) in planes.iter_mut().zip(errors) {
                    // The plane's own error grows with the radius; only the radius that is returned counts.
                    let uneven = plane.unevenness(&self.motion, complete, allowance.time_s);
                    plane.error_m = error.max(uneven + allowance.curved_m);
                }
            }
            // Planes added for a smaller radius are of no use to a larger one.
            planes.truncate(n_best);
            radius *= 0.5;
        }
        best
    }

    fn allowance(&self, radius_m: f64) -> Allowance {
        let time_s = used_up_s(radius_m, self.motion.speed_max());
        // theta (reach + lag) + lag <= r, and a link turns by its screw's rate times its lag: the sum of both is linear
        // in the two shares, so greatest at one end.
        let tool_turn = if self.reach_m > 0.0 { radius_m / self.reach_m } else { 0.0 };
        let rate = self.screws.iter().flatten().map(|s| s.turn.length()).fold(0.0, f64::max);
        let link_turn = radius_m * rate;
        // Half of theta^2 (reach + lag) + 2 theta lag + b lag, as `Extent` has it, with theta (reach + lag) + lag <= r:
        // theta r without links; with them no more than (2 theta + b) r.
        let has_links = self.screws.iter().any(Option::is_some);
        let curved_m = if has_links {
            0.5 * radius_m * (2.0 * tool_turn + link_turn)
        } else {
            0.5 * radius_m * tool_turn
        };
        Allowance { radius_m, turn: tool_turn.max(link_turn), curved_m, time_s }
    }

    /// Returns the distance of the first pair that no plane holds apart; the radius of `a` if there is none.
    fn complete(&self, planes: &mut Vec<ContactPlane>, errors: &mut [f64], a: &Allowance) -> f64 {
        let mut links: [CheckedLink; RENDERED_LINKS_MAX] = std::array::from_fn(|link| {
            let is_there = link < self.tool.links.len();
            let scene_from_link =
                if is_there { self.posture.scene_from_link(link) } else { Pose::IDENTITY };
            CheckedLink { scene_from_link, likely: 0 }
        });
        for pair in self.pairs.iter().take_while(|p| p.distance_m < a.radius_m) {
            // A pair that there was no time to check may be one that nothing holds.
            if self.deadline.is_over() {
                return pair.distance_m;
            }
            let link = &mut links[pair.link];
            let corners = self.triangles(pair, &link.scene_from_link);
            if self.is_held(pair, &corners, planes, &mut link.likely, errors, a) {
                continue;
            }
            let room = planes.len() < ROWS_MAX;
            let Some(own) = self.own_plane(pair, &corners).filter(|_| room) else {
                return pair.distance_m;
            };
            planes.push(own);
            if !self.is_held(pair, &corners, planes, &mut link.likely, errors, a) {
                planes.pop();
                return pair.distance_m;
            }
        }
        a.radius_m
    }

    /// Returns the plane through the pair's closest points; `None` if they meet.
    fn own_plane(
        &self,
        pair: &NearTriangles,
        (tissue, own): &([DVec3; 3], [DVec3; 3]),
    ) -> Option<ContactPlane> {
        let closest = closest_pair(tissue, own);
        let normal = closest.direction()?;
        let mesh = self.motion.tissues[pair.tissue].1.surface.mesh();
        let velocities = mesh.vertices(pair.tissue_triangle);
        let velocities = velocities.map(|v| normal.dot(self.motion.velocity(pair.tissue, v)));
        Some(ContactPlane {
            link: pair.link,
            tissue: pair.tissue,
            triangle: pair.tissue_triangle,
            on_tissue: closest.on_a,
            on_tool: closest.on_b,
            normal,
            velocity_m_s: velocities.into_iter().fold(f64::NEG_INFINITY, f64::max),
            aside_m: 0.0,
            error_m: 0.0,
        })
    }

    /// Returns the tissue's triangle and the link's, scene frame.
    fn triangles(&self, pair: &NearTriangles, scene_from_link: &Pose) -> ([DVec3; 3], [DVec3; 3]) {
        let view = self.motion.view(pair.tissue);
        let tissue = view.triangle_at(pair.tissue_triangle, view.time);
        let own = self.tool.links[pair.link].surface.mesh().triangle(pair.link_triangle);
        (tissue, scene_from_link.triangle(&own))
    }

    /// Returns true if planes hold a pair apart.
    fn is_held(
        &self,
        pair: &NearTriangles,
        (tissue, own): &([DVec3; 3], [DVec3; 3]),
        planes: &[ContactPlane],
        likely: &mut usize,
        errors: &mut [f64],
        a: &Allowance,
    ) -> bool {
        let mesh = self.motion.tissues[pair.tissue].1.surface.mesh();
        let velocities =
            mesh.vertices(pair.tissue_triangle).map(|v| self.motion.velocity(pair.tissue, v));
        let keeps = Keeps { link: pair.link, planes, velocities: &velocities, allowance: a };
        let is_apart = |i: &usize| keeps.apart_by(*i, tissue, own, errors);
        let last = *likely;
        let others = (0..planes.len()).filter(|i| *i != last);
        let mut each = (last..planes.len()).take(1).chain(others);
        if let Some(i) = each.find(is_apart) {
            *likely = i;
            return true;
        }
        if keeps.apart(tissue, own, errors) {
            return true;
        }
        let near_own = within_reach(tissue, own, a.radius_m);
        let near_tissue = within_reach(own, tissue, a.radius_m);
        let (tissue, own) = (near_own.corners(), near_tissue.corners());
        // No parts of the two are within reach.
        tissue.is_empty() || own.is_empty() || keeps.apart(tissue, own, errors)
    }
}

/// Returns the part of a triangle inside the bounding box of another one, grown by `reach`.
fn within_reach(part_of: &[DVec3; 3], about: &[DVec3; 3], reach: f64) -> ClippedTriangle {
    let low = about[0].min(about[1]).min(about[2]) - reach;
    let high = about[0].max(about[1]).max(about[2]) + reach;
    let mut part = ClippedTriangle::new(*part_of);
    for axis in 0..3 {
        part.clip(|p| p[axis] - low[axis]);
        part.clip(|p| high[axis] - p[axis]);
    }
    part
}

/// Planes that may keep a pair apart.
struct Keeps<'a> {
    link: usize,
    planes: &'a [ContactPlane],
    /// Velocities of the tissue triangle's vertices, m/s.
    velocities: &'a [DVec3; 3],
    allowance: &'a Allowance,
}

impl Keeps<'_> {
    /// Returns true if plane `i` keeps the pair apart without a greater error than it already has: most pairs need no
    /// more, and the search of [`Keeps::apart`] takes longer.
    fn apart_by(&self, i: usize, tissue: &[DVec3], own: &[DVec3], errors: &[f64]) -> bool {
        let plane = &self.planes[i];
        if plane.link != self.link {
            return false;
        }
        let above = tissue.iter().map(|a| plane.normal.dot(*a - plane.on_tissue));
        let above = above.fold(f64::NEG_INFINITY, f64::max);
        let curved_m = self.allowance.curved_m;
        let allowed = errors[i].max(curved_m);
        let most = allowed.min(ERROR_SHARE * self.allowance.radius_m) - above;
        // Rotation and drift only add to an error: most planes that fail do so without them, before any root.
        let straight = |corner: &DVec3| curved_m - plane.normal.dot(*corner - plane.on_tool);
        if !own.iter().all(|corner| straight(corner) <= most) {
            return false;
        }
        let most = most - self.drift(self.fastest(plane), i);
        own.iter().all(|corner| self.error(plane, i, *corner) <= most)
    }

    /// Greatest velocity of the tissue along a plane's normal, m/s.
    fn fastest(&self, plane: &ContactPlane) -> f64 {
        let along = self.velocities.iter().map(|u| plane.normal.dot(*u));
        along.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns true if planes of the pair's link keep its corners from the tissue's; raises `errors` to what each then
    /// needs.
    fn apart(&self, tissue: &[DVec3], own: &[DVec3], errors: &mut [f64]) -> bool {
        let of_link = || self.planes.iter().enumerate().filter(|(_, p)| p.link == self.link);
        let above = |p: &ContactPlane| {
            tissue.iter().map(|a| p.normal.dot(*a - p.on_tissue)).fold(f64::NEG_INFINITY, f64::max)
        };
        let below = |p: &ContactPlane| {
            own.iter().map(|b| p.normal.dot(p.on_tool - *b)).fold(f64::NEG_INFINITY, f64::max)
        };
        let straight = of_link().map(|(i, p)| (above(p) + below(p), i));
        let Some((_, i)) = straight.min_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        let direction = &self.planes[i];
        let above = above(direction);
        let fastest = self.fastest(direction);
        let most = ERROR_SHARE * self.allowance.radius_m;
        let mut found = [(0, 0.0); CORNERS_MAX];
        for (found, corner) in found.iter_mut().zip(own) {
            let error =
                |j: usize| self.error(direction, j, *corner) + above + self.drift(fastest, j);
            let alone = error(i);
            *found = if alone <= 0.5 * most {
                (i, alone)
            } else {
                let each = of_link().map(|(j, _)| (j, error(j)));
                each.min_by(|a, b| a.1.total_cmp(&b.1)).expect("one at least")
            };
            if found.1 > most {
                return false;
            }
        }
        for (j, error) in &found[..own.len()] {
            errors[*j] = errors[*j].max(*error);
        }
        true
    }

    /// Distance by which a corner may come nearer to the plane of `direction` than row `j` says, metres.
    fn error(&self, direction: &ContactPlane, j: usize, corner: DVec3) -> f64 {
        let (row, a) = (&self.planes[j], self.allowance);
        let w = corner - row.on_tool;
        let turned = a.turn * w.cross(row.normal).length() + 0.5 * a.turn * a.turn * w.length();
        let own = turned - row.normal.dot(w) + a.curved_m;
        if std::ptr::eq(direction, row) {
            return own;
        }
        let tilted = (direction.normal - row.normal).length();
        let off = tilted * (corner.distance(row.on_tissue) + a.radius_m);
        own + off - direction.normal.dot(row.on_tissue - direction.on_tissue)
    }

    /// Distance by which the tissue comes nearer than row `j` says until the radius is used up, metres.
    fn drift(&self, fastest_m_s: f64, j: usize) -> f64 {
        (fastest_m_s - self.planes[j].velocity_m_s).max(0.0) * self.allowance.time_s
    }
}
