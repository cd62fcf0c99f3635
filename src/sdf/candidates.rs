//! The triangles that can be nearest to some point of a cell, nearest to its centre first.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    exact::{Corner, Exact},
    sign_from_normal::SignFromNormal,
    trilinear::trilinear,
};
use crate::geometry::{
    Aabb, TriangleId, TriangleMesh,
    distance::{
        point_triangle::{ClosestPoint, closest_point},
        point_triangles::TriangleLanes,
    },
    lanes::{LANES, least_lane},
    tolerance::CANDIDATE_ROUNDING,
    winding::solid_angles,
};

/// Longest list that a cell answers from. Around a thin shaft every long triangle is in every list, and a
/// cell without a list there would not even know its side.
pub(super) const LIST_MAX: usize = 256;

/// A cell's list. A search goes through it by distance from the centre and stops when what is left cannot
/// be nearer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CandidateList {
    entries: Box<[CandidateEntry]>,
    /// Width of a shell around the cell's centre, metres.
    shell: f32,
    /// The winding number of all other triangles at the cell's corners, where the sign needs it.
    far_winding: Option<Box<[f32; 8]>>,
}

/// A triangle and the shell that its nearest point to the centre is in: the upper 24 bits and the lower 8.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct CandidateEntry(u32);

/// Ids that an entry can hold; far more than a link may have.
const TRIANGLE_IDS_MAX: u32 = 1 << 24;
const SHELLS: f64 = 256.0;

impl CandidateEntry {
    fn triangle(self) -> TriangleId {
        TriangleId(self.0 >> 8)
    }

    fn shell(self) -> u32 {
        self.0 & 0xff
    }
}

impl CandidateList {
    /// All triangles within `reach` of the centre: with d the distance of the centre and r the cell's
    /// radius, the nearest triangle of any point of the cell is within d + 2 r of the centre. `None`: too
    /// many.
    pub(super) fn around(
        mesh: &TriangleMesh,
        exact: &Exact,
        centre: DVec3,
        reach: f64,
    ) -> Option<CandidateList> {
        assert!(mesh.triangle_id_end() <= TRIANGLE_IDS_MAX, "more triangles than a link may have");
        let reach = reach * (1.0 + CANDIDATE_ROUNDING);
        let mut near = Vec::new();
        (exact.near)(&Aabb::around([centre]).grown(reach), &mut near);
        let from_centre =
            |t: TriangleId| (closest_point(centre, &mesh.triangle(t)).distance_squared.sqrt(), t);
        let mut near: Vec<(f64, TriangleId)> =
            near.into_iter().map(from_centre).filter(|(d, _)| *d <= reach).collect();
        // Given up before any of it is kept: the cell is then split, or wide.
        if near.len() > LIST_MAX {
            return None;
        }
        // By shells of distance from the centre a search ends early: in the demo's ticks it looks at 8 of 31
        // triangles. 256 shells fit into the word of the id.
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        debug_assert!(!near.is_empty(), "nothing within {reach} m of {centre}");
        let shell = ((reach / SHELLS) as f32).next_up();
        let entry = |&(d, t): &(f64, TriangleId)| {
            let shell = (d / f64::from(shell)).min(SHELLS - 1.0) as u32;
            CandidateEntry(t.0 << 8 | shell)
        };
        let entries = near.iter().map(entry).collect();
        Some(CandidateList { entries, shell, far_winding: None })
    }

    /// Adds what the sign needs when normals alone do not tell it.
    pub(super) fn with_sign(
        mut self,
        mesh: &TriangleMesh,
        sign_from_normal: &SignFromNormal,
        corners: &[Corner; 8],
    ) -> CandidateList {
        let triangles: Vec<TriangleId> = self.triangles().collect();
        if !sign_from_normal.holds(mesh, &triangles, corners) {
            // The winding number of what is not in the list has no singularity in the cell, so it is smooth there
            // and interpolated between the corners; that of the list is computed at the point.
            let far =
                corners.each_ref().map(|c| Some((c.winding? - self.winding(mesh, c.at)) as f32));
            self.far_winding =
                far.iter().all(Option::is_some).then(|| Box::new(far.map(|w| w.expect("checked"))));
        }
        self
    }

    pub(super) fn triangles(&self) -> impl Iterator<Item = TriangleId> + '_ {
        self.entries.iter().map(|e| e.triangle())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The nearest triangle to `p`, which is `from_centre` metres from the cell's centre; the smallest id
    /// among equally near ones.
    pub(super) fn nearest(
        &self,
        mesh: &TriangleMesh,
        p: DVec3,
        from_centre: f64,
    ) -> (TriangleId, ClosestPoint) {
        debug_assert!(from_centre >= 0.0 && p.is_finite(), "{from_centre} m, {p}");
        let mut best: Option<(TriangleId, ClosestPoint)> = None;
        // Farther than this, and shells from here on, nothing is wanted.
        let (mut wanted, mut end) = (f64::INFINITY, u32::MAX);
        for entries in self.entries.chunks(LANES) {
            if entries[0].shell() > end {
                break;
            }
            let corners = |e: &CandidateEntry| {
                mesh.vertices(e.triangle()).map(|v| mesh.positions()[v as usize])
            };
            // Eight lower bounds in f32, then the exact distance in f64 where a bound does not decide: the answer is
            // the same, and a list of the probe takes 0.7 of the time.
            let mut below = TriangleLanes::new(entries.iter().map(corners)).distances_below(p);
            loop {
                let lane = least_lane(&below);
                if f64::from(below[lane]) > wanted || below[lane] == f32::INFINITY {
                    break;
                }
                below[lane] = f32::INFINITY;
                let t = entries[lane].triangle();
                let found = closest_point(p, &mesh.triangle(t));
                let d = found.distance_squared;
                let is_nearer = |(other, least): &(TriangleId, ClosestPoint)| {
                    // Lists are not in the order of ids, so a tie is decided by it here.
                    d < least.distance_squared || d == least.distance_squared && t < *other
                };
                if best.as_ref().is_none_or(is_nearer) {
                    best = Some((t, found));
                    wanted = d.sqrt() * (1.0 + CANDIDATE_ROUNDING);
                    end = self.end(d, from_centre);
                }
            }
        }
        best.expect("a list names one triangle at least")
    }

    /// The last shell that can hold something as near.
    fn end(&self, distance_squared: f64, from_centre: f64) -> u32 {
        let reach = (distance_squared.sqrt() + from_centre) * (1.0 + CANDIDATE_ROUNDING);
        (reach / f64::from(self.shell)) as u32
    }

    /// The winding number of the whole surface at `p`, `fraction` of the cell from its first corner;
    /// `None` where the nearest normal tells the side.
    pub(super) fn winding_at(&self, mesh: &TriangleMesh, p: DVec3, fraction: DVec3) -> Option<f64> {
        let far = self.far_winding.as_ref()?.map(f64::from);
        Some(trilinear(&far, fraction).0 + self.winding(mesh, p))
    }

    /// The share of the winding number around `p` that the list's triangles have.
    fn winding(&self, mesh: &TriangleMesh, p: DVec3) -> f64 {
        // Half angles are multiplied as complex numbers and their turns counted: one atan2 a list.
        solid_angles(p, self.triangles().map(|t| mesh.triangle(t))) / (4.0 * std::f64::consts::PI)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<CandidateList>()
            + size_of_val(&self.entries[..])
            + self.far_winding.as_ref().map_or(0, |_| size_of::<[f32; 8]>())
    }

    pub(super) fn is_well_formed(&self, mesh: &TriangleMesh, by_winding: bool) -> bool {
        !self.entries.is_empty()
            && self.triangles().all(|t| mesh.get(t).is_some())
            && self.entries.is_sorted_by_key(|e| e.shell())
            && self.shell > 0.0
            && self.shell.is_finite()
            && (by_winding || self.far_winding.is_none())
            && self.far_winding.iter().all(|w| w.iter().all(|w| w.is_finite()))
    }
}
