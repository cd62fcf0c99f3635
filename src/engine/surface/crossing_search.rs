//! Self-crossings of a closed surface, found a few triangles at a time and searched only where the surface has moved.
//!
//! The normal of the nearest feature tells inside from outside while a surface is closed, has one body, faces outwards
//! and nowhere touches itself; if it touches itself, the normals of its outer sheet alone do. Each triangle is tested
//! against all others when it is new or has moved, so the later test of every two triangles sees both at their current
//! positions.

use std::sync::Arc;

use glam::Vec3;

use crate::{
    geometry::{
        TriangleId, TriangleMesh,
        mesh::{
            outer_sheet::{outer_sheet, outermost},
            seam_search::joined_of_each,
            topology::has_three_vertices,
        },
        triangle_triangle::meet_beyond_shared,
    },
    index::SkipList,
};

/// Triangles of a mesh that are still to be tested for crossing others.
#[derive(Debug, Default)]
pub struct CrossingSearch {
    /// Positions of the vertices when the search last followed the mesh.
    positions: Vec<Vec3>,
    /// Joined representative of each vertex at that time, if seams join any.
    joined: Vec<u32>,
    /// Exclusive end of the triangle ids at that time.
    id_end: u32,
    /// Triangles to be tested, the next one last; `waits` flags the same triangles by id.
    waiting: Vec<TriangleId>,
    waits: Vec<bool>,
    /// Pairs found to meet in more than they share, that have not moved since. A triangle without three vertices is
    /// stored as a pair with itself: it bounds nothing, but it may be nearest to a point, and no normal tells the side
    /// there.
    meeting: Vec<[TriangleId; 2]>,
    /// Pairs tested since the search last followed the mesh.
    n_tested: usize,
    sheet: OuterSheet,
}

/// The outer sheet found last. It changes if other triangles cross or the mesh is cut, and hardly ever by a
/// deformation: finding it again takes ten times as long as checking that it is unchanged.
#[derive(Debug, Default)]
struct OuterSheet {
    /// The triangles that crossed others, ascending, and the total number of triangles at that time.
    crossing: Vec<TriangleId>,
    n_triangles: usize,
    /// Indexed by triangle id.
    is_on: Arc<[bool]>,
}

/// Limits before a search gives up: tested pairs in total, tested pairs added for each triangle, and pairs that meet.
/// If all triangles overlap, pairs are the square of the triangles. A usual surface has 7 pairs for each triangle.
const PAIRS_MAX: usize = 1 << 20;
const PAIRS_PER_TRIANGLE: usize = 64;
const MEETING_MAX: usize = 1 << 16;

/// Result of a search when it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Searched {
    /// All triangles that meet others are known.
    Crosses,
    /// No two triangles meet except in what they share.
    Clear,
    /// Too many triangles came near each other.
    GivenUp,
    /// Some triangles are still to be tested.
    Unfinished,
}

impl CrossingSearch {
    /// Starts a search with all triangles to be tested.
    pub(super) fn of_all(mesh: &TriangleMesh) -> CrossingSearch {
        let mut search = CrossingSearch::default();
        search.follow(mesh);
        search
    }

    /// Starts a search with no triangle to be tested, for a mesh that is known not to cross itself.
    pub(super) fn of_none(mesh: &TriangleMesh) -> CrossingSearch {
        let id_end = mesh.triangle_id_end();
        let positions = mesh.positions().to_vec();
        let waits = vec![false; id_end as usize];
        let joined = joined_of_each(mesh);
        CrossingSearch { positions, joined, id_end, waits, ..CrossingSearch::default() }
    }

    /// Adds the triangles that are new or have moved since the last call. O(vertices).
    pub fn follow(&mut self, mesh: &TriangleMesh) {
        self.waits.resize(mesh.triangle_id_end() as usize, false);
        self.n_tested = 0;
        for t in (self.id_end..mesh.triangle_id_end()).map(TriangleId) {
            self.wait(t);
        }
        self.id_end = mesh.triangle_id_end();
        let known = self.positions.len();
        let joined = joined_of_each(mesh);
        let stood = |joined: &[u32], v: u32| joined.get(v as usize).copied().unwrap_or(v);
        for (v, p) in (0..).zip(mesh.positions()).take(known) {
            // A triangle meets others in more when they share less, so changed seams count as movement.
            let is_moved = self.positions[v as usize] != *p;
            if is_moved || stood(&self.joined, v) != stood(&joined, v) {
                self.positions[v as usize] = *p;
                mesh.ring(v).for_each(|(t, _)| self.wait(t));
            }
        }
        self.joined = joined;
        // A vertex is new only with its triangles, or has none.
        self.positions.extend_from_slice(&mesh.positions()[known..]);
        // A pair with a waiting triangle is dropped: the test of that triangle finds it again.
        let Self { meeting, waits, .. } = self;
        let stays = |t: &TriangleId| !waits[t.0 as usize] && mesh.get(*t).is_some();
        meeting.retain(|pair| pair.iter().all(stays));
    }

    fn wait(&mut self, t: TriangleId) {
        if !std::mem::replace(&mut self.waits[t.0 as usize], true) {
            self.waiting.push(t);
        }
    }

    /// Tests at most `triangles_max` triangles.
    pub(super) fn advance(
        &mut self,
        list: &SkipList,
        mesh: &TriangleMesh,
        triangles_max: usize,
    ) -> Searched {
        let pairs_max = PAIRS_MAX + PAIRS_PER_TRIANGLE * mesh.n_triangles();
        for _ in 0..triangles_max {
            let Some(t) = self.waiting.last().copied() else { break };
            if self.n_tested > pairs_max || self.meeting.len() > MEETING_MAX {
                return Searched::GivenUp;
            }
            if mesh.get(t).is_some() {
                self.test(list, mesh, t);
            }
            // The triangle keeps waiting: some of the pairs that it meets may be missing.
            if self.meeting.len() > MEETING_MAX {
                return Searched::GivenUp;
            }
            self.waiting.pop();
            self.waits[t.0 as usize] = false;
        }
        match (self.waiting.is_empty(), self.meeting.is_empty()) {
            (false, _) => Searched::Unfinished,
            (true, true) => Searched::Clear,
            (true, false) => Searched::Crosses,
        }
    }

    /// The triangles that meet others in more than they share, ascending.
    fn crossing(&self) -> Vec<TriangleId> {
        let mut crossing = self.meeting.as_flattened().to_vec();
        crossing.sort_unstable();
        crossing.dedup();
        crossing
    }

    /// Outer sheet, by triangle id, of a mesh whose crossings are all known. O(vertices) if the sheet is unchanged.
    pub(super) fn outer_sheet(&mut self, mesh: &TriangleMesh) -> Arc<[bool]> {
        let crossing = self.crossing();
        let mut crosses = vec![false; mesh.triangle_id_end() as usize];
        crossing.iter().for_each(|t| crosses[t.0 as usize] = true);
        let last = &self.sheet;
        // Each id is given once, so equal counts of triangles and of ids mean identical triangles.
        let is_same = last.crossing == crossing
            && (last.n_triangles, last.is_on.len()) == (mesh.n_triangles(), crosses.len());
        let all = || mesh.triangle_ids();
        // If the outermost triangle is on the last sheet, the sheet joined to it is unchanged.
        let is_joined = |first: TriangleId| last.is_on[first.0 as usize];
        if !(is_same && outermost(mesh, all(), &crosses).is_some_and(is_joined)) {
            let mut is_on = vec![false; crosses.len()];
            for t in outer_sheet(mesh, all(), &crosses) {
                is_on[t.0 as usize] = true;
            }
            let n_triangles = mesh.n_triangles();
            self.sheet = OuterSheet { crossing, n_triangles, is_on: is_on.into() };
        }
        Arc::clone(&self.sheet.is_on)
    }

    /// Tests a triangle against all that do not wait; of two waiting triangles, the later one is tested against the
    /// other.
    fn test(&mut self, list: &SkipList, mesh: &TriangleMesh, t: TriangleId) {
        let of = |t: TriangleId| (mesh.joined_vertices(t), mesh.triangle(t));
        let own = of(t);
        let Self { waits, meeting, n_tested, .. } = self;
        if !has_three_vertices(own.0) {
            meeting.push([t, t]);
        }
        list.overlap(&mesh.triangle_box(t), |other| {
            if other == t || waits[other.0 as usize] || meeting.len() > MEETING_MAX {
                return;
            }
            *n_tested += 1;
            if meet_beyond_shared(&own, &of(other)) {
                meeting.push([t, other]);
            }
        });
    }

    /// Bytes allocated.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Vec3>() * self.positions.capacity()
            + size_of::<u32>() * self.joined.capacity()
            + size_of::<TriangleId>() * (self.waiting.capacity() + self.sheet.crossing.capacity())
            + size_of::<[TriangleId; 2]>() * self.meeting.capacity()
            + self.waits.capacity()
            + self.sheet.is_on.len()
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        geometry::{MeshData, mesh::topology::SignRule},
        index::LatLonOptions,
        oracle::{random::Random, shapes},
        surface::Surface,
    };

    fn surface(data: MeshData) -> Surface {
        Surface::new(TriangleMesh::new(data), LatLonOptions::default())
    }

    fn crossing(mesh: &TriangleMesh) -> Vec<bool> {
        let mut crosses = vec![false; mesh.triangle_id_end() as usize];
        let of = |t: TriangleId| (mesh.joined_vertices(t), mesh.triangle(t));
        for t in mesh.triangle_ids() {
            for other in mesh.triangle_ids().filter(|u| *u < t) {
                if meet_beyond_shared(&of(t), &of(other)) {
                    (crosses[t.0 as usize], crosses[other.0 as usize]) = (true, true);
                }
            }
        }
        crosses
    }

    /// A ball is dented, mended, cut and split; searches are interrupted and continued in later shapes of it. The
    /// result equals a test of all pairs of triangles.
    #[test]
    fn a_search_in_slices_finds_what_all_pairs_have() {
        let seed = 14;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut s = surface(shapes::sphere(0.05, 5));
        let mut rest: Vec<Vec3> = s.mesh().positions().to_vec();
        let mut search = s.crossing_search();
        assert!(!s.is_by_winding(), "a ball does not cross itself");
        let (mut n_crossing, mut n_clear) = (0, 0);
        for round in 0..300 {
            let at = random.unit_vector() * 0.05;
            let depth = [0.0, 0.04, 0.13][random.below(3)];
            let dented = |p: &Vec3| {
                let p = p.as_dvec3();
                let fall = (-(p.distance_squared(at)) / 4e-4).exp();
                (p - at.normalize() * depth * fall).as_vec3()
            };
            let moved: Vec<Vec3> = rest.iter().map(dented).collect();
            match random.below(3) {
                0 => {
                    let far = |v: &u32| moved[*v as usize] != s.mesh().positions()[*v as usize];
                    let vertices: Vec<u32> = (0..rest.len() as u32).filter(far).collect();
                    let to: Vec<Vec3> = vertices.iter().map(|v| moved[*v as usize]).collect();
                    s.move_vertices(&vertices, &to);
                }
                1 => drop(s.move_all(moved.clone())),
                _ => {
                    // One triangle in three, at a vertex in its middle.
                    let ids: Vec<TriangleId> = s.mesh().triangle_ids().collect();
                    let t = ids[random.below(ids.len())];
                    let ([a, b, c], v) = (s.mesh().vertices(t), rest.len() as u32);
                    let middle =
                        |p: &[Vec3]| [a, b, c].map(|v| p[v as usize]).iter().sum::<Vec3>() / 3.0;
                    let here = middle(s.mesh().positions());
                    rest.push(middle(&rest));
                    s.edit(&[t], &[here], &[[a, b, v], [b, c, v], [c, a, v]]);
                }
            }
            assert!(s.is_by_winding(), "nothing is known of round {round}");
            search.follow(s.mesh());
            if random.below(3) == 0 {
                s.search_crossings(&mut search, 40);
                continue;
            }
            while !s.search_crossings(&mut search, 40) {}
            let truth = crossing(s.mesh());
            let crosses = truth.contains(&true);
            assert_eq!(s.is_by_winding(), crosses, "round {round}");
            let found = search.crossing();
            let is_found = |t: u32| found.binary_search(&TriangleId(t)).is_ok();
            let told: Vec<bool> = (0..truth.len() as u32).map(is_found).collect();
            assert_eq!(told, truth, "round {round}");
            let mut is_on = vec![false; truth.len()];
            for t in outer_sheet(s.mesh(), s.mesh().triangle_ids(), &truth) {
                is_on[t.0 as usize] = true;
            }
            for t in s.mesh().triangle_ids().filter(|_| crosses) {
                assert_eq!(!s.is_by_winding_at(t), is_on[t.0 as usize], "{t:?} in round {round}");
            }
            s.assert_well_formed();
            *(if crosses { &mut n_crossing } else { &mut n_clear }) += 1;
        }
        assert!(n_crossing > 30 && n_clear > 30, "{n_crossing} crossing, {n_clear} clear");
    }

    /// One triangle more than may meet about an axis: the last is tested in part. The triangles that it was found to
    /// meet are removed, and those that it was not tested against remain.
    #[test]
    fn a_search_that_gave_up_misses_nothing_later() {
        let n = 363;
        let about = |i: u32| {
            let (sin, cos) = (std::f32::consts::PI * i as f32 / n as f32).sin_cos();
            [Vec3::new(-cos, -sin, 0.0), Vec3::new(cos, sin, 1.0), Vec3::new(cos, sin, -1.0)]
        };
        let positions = (0..n).flat_map(about).collect();
        let triangles = (0..n).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mut mesh = TriangleMesh::new(MeshData { positions, triangles });
        let built = |mesh: &TriangleMesh| SkipList::build(mesh, &LatLonOptions::default());
        let mut search = CrossingSearch::of_all(&mesh);
        assert_eq!(search.advance(&built(&mesh), &mesh, usize::MAX), Searched::GivenUp);
        let last = search.meeting.last().expect("pairs")[0];
        let met = search.meeting.iter().filter(|pair| pair[0] == last).map(|pair| pair[1]);
        let met: Vec<TriangleId> = met.collect();
        assert!(met.len() < n as usize - 1, "{} of {n} were tested", met.len());
        for t in met {
            for v in mesh.vertices(t) {
                mesh.move_vertex(
                    v,
                    mesh.positions()[v as usize] + Vec3::X * 4.0 * (t.0 + 1) as f32,
                );
            }
        }
        search.follow(&mesh);
        assert_eq!(search.advance(&built(&mesh), &mesh, usize::MAX), Searched::Crosses);
        assert!(search.crossing().contains(&last), "{last:?} still meets what stayed");
    }

    /// Facing inwards, folded flat, touching itself, or with a triangle that names a vertex twice: the mesh is closed
    /// and has one body, and no normal tells the side.
    #[test]
    fn what_only_seems_embedded_is_told_by_winding() {
        let ball = shapes::sphere(0.05, 3);
        let inside_out = MeshData {
            triangles: ball.triangles.iter().map(|[a, b, c]| [*c, *b, *a]).collect(),
            ..ball.clone()
        };
        let flat = |p: &Vec3| p.with_z(0.0);
        let folded =
            MeshData { positions: ball.positions.iter().map(flat).collect(), ..ball.clone() };
        let mut stray = ball.clone();
        stray.triangles.push([0, 0, 7]);
        for (name, data) in [("inside out", inside_out), ("folded", folded), ("stray", stray)] {
            let s = surface(data);
            assert_eq!(s.sign_rule(), SignRule::Pseudonormal, "{name}");
            assert!(s.is_by_winding(), "{name}");
        }
        let s = surface(ball);
        assert!(!s.is_by_winding());
        assert_eq!(s.contains(DVec3::ZERO), (true, 1.0));
    }

    /// The interior of a ball turned inside out counts as outside, and that is flagged as a guess.
    #[test]
    fn negative_winding_is_a_guess() {
        let mut s = surface(shapes::sphere(0.05, 3));
        let through: Vec<Vec3> = s.mesh().positions().iter().map(|p| -*p).collect();
        s.move_all(through.clone());
        assert_eq!(s.contains(DVec3::splat(0.01)), (false, 0.0));
        assert_eq!(s.contains(DVec3::splat(0.06)), (false, 1.0));
        let nearest = s.nearest(DVec3::splat(0.01), 1.0, None).expect("a ball").triangle;
        let time = &crate::time_left::TimeLeft::endless();
        assert_eq!(s.certainty_about(DVec3::splat(0.01), nearest, time), 0.0);
    }
}
