//! A mesh with its index and its sign. A tissue is one, and so is a link.

mod crossing_search;
mod normal_side;
mod tracked_point;
mod winding;

use glam::{DVec3, Vec3};

use crate::{
    geometry::{
        Aabb, TriangleId, TriangleMesh,
        distance::point_triangle::ClosestPoint,
        mesh::{
            boundary::Boundary,
            hub_search::{assert_hubs, note_hubs},
            pseudonormal::pseudonormal,
            seam_search::{assert_seams, follow_edit, follow_moved, join_again, note_seams},
            topology::{EditSite, SignRule, Topology},
        },
        side::{Side, SideWitness},
        tolerance::{ON_SURFACE, SIDE_IS_CLEAR},
        winding::{Winding, winding_of},
    },
    index::{BoxTest, LatLonOptions, NearestTriangle, Quality, SkipList, Updated},
    time_left::{TimeLeft, Visited, note_step},
};
pub use crossing_search::CrossingSearch;
use crossing_search::Searched;
use normal_side::NormalSide;
pub use tracked_point::TrackedPoint;
use winding::counted_winding;

/// A triangle mesh that answers distances, and stays able to while it is deformed and cut.
#[derive(Clone, Debug)]
pub struct Surface {
    mesh: TriangleMesh,
    list: SkipList,
    options: LatLonOptions,
    topology: Topology,
    boundary: Boundary,
    quality: Quality,
    normal_side: NormalSide,
    /// The last move of vertices parted or joined edges.
    moved_seams: bool,
    /// Inside is all around it: the surface winds once less around each point than around what is inside.
    is_lumen: bool,
}

/// The nearest point of a surface and on which side of it the asker is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedNearest {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// Where the surface is nearest.
    pub triangle: TriangleId,
    /// The point on it.
    pub closest: ClosestPoint,
    /// Unit, outwards.
    pub normal: DVec3,
    /// 0 (the sign is a guess) to 1 (certain).
    pub certainty: f64,
    /// The winding number, where the sign is taken from it: not on the surface, to rounding.
    pub winding: Option<f64>,
}

impl Surface {
    /// Indexes a mesh, and finds out whether a closed one crosses itself.
    pub fn new(mesh: TriangleMesh, options: LatLonOptions) -> Surface {
        Surface::of(mesh, options, false)
    }

    /// [`Surface::new`] of the wall of a lumen, which faces inwards, or of any other surface.
    pub fn of(mesh: TriangleMesh, options: LatLonOptions, is_lumen: bool) -> Surface {
        let surface = Surface { is_lumen, ..Surface::unsearched(mesh, options) };
        if surface.may_be_embedded() {
            let mut search = CrossingSearch::of_all(&surface.mesh);
            surface.search_crossings(&mut search, usize::MAX);
        }
        surface
    }

    fn unsearched(mut mesh: TriangleMesh, options: LatLonOptions) -> Surface {
        note_seams(&mut mesh);
        note_hubs(&mut mesh);
        let topology = Topology::of(&mesh);
        let mut list = SkipList::build(&mesh, &options);
        let quality = Quality::of(&mut list, &mesh);
        // A closed surface has no boundary, and most have none: nothing is then computed for it.
        let boundary = if topology.closed() { Boundary::default() } else { Boundary::of(&mesh) };
        let normal_side = NormalSide::default();
        Surface {
            mesh,
            list,
            options,
            topology,
            boundary,
            quality,
            normal_side,
            moved_seams: false,
            is_lumen: false,
        }
    }

    /// The triangles as they are.
    pub fn mesh(&self) -> &TriangleMesh {
        &self.mesh
    }

    /// How it is laid out in its index.
    pub fn options(&self) -> LatLonOptions {
        self.options
    }

    /// What mesh and list have allocated, room to grow included.
    pub fn heap_bytes(&self) -> usize {
        self.mesh.heap_bytes()
            + self.list.heap_bytes()
            + self.boundary.heap_bytes()
            + self.normal_side.heap_bytes()
    }

    /// How inside is told from outside while the surface does not cross itself.
    pub fn sign_rule(&self) -> SignRule {
        self.topology.sign_rule()
    }

    /// Edges that seams join.
    pub fn welded_edges(&self) -> u32 {
        self.topology.edges.welded
    }

    /// The last move of vertices parted or joined edges.
    pub fn has_moved_seams(&self) -> bool {
        self.moved_seams
    }

    /// Inside is told by the winding number somewhere: the surface is open, of several bodies, or not known not to cross
    /// itself.
    pub fn is_by_winding(&self) -> bool {
        !(self.may_be_embedded() && self.normal_side.is_everywhere())
    }

    /// The side of points that are nearest to a triangle is told by the winding number.
    pub fn is_by_winding_at(&self, t: TriangleId) -> bool {
        !(self.may_be_embedded() && self.normal_side.is_at(t))
    }

    fn may_be_embedded(&self) -> bool {
        self.topology.sign_rule() == SignRule::Pseudonormal
    }

    /// A search for crossings that starts from what is known of the surface.
    pub fn crossing_search(&self) -> CrossingSearch {
        if self.is_by_winding() {
            CrossingSearch::of_all(&self.mesh)
        } else {
            CrossingSearch::of_none(&self.mesh)
        }
    }

    /// Goes on with a search that has followed this surface's mesh, for so many triangles at most, and notes what it
    /// finds. True when there is no more to find out. 0.5 to 1 us for each triangle.
    pub fn search_crossings(&self, search: &mut CrossingSearch, triangles_max: usize) -> bool {
        if !self.may_be_embedded() {
            return true;
        }
        let found = search.advance(&self.list, &self.mesh, triangles_max);
        match found {
            Searched::Clear if self.faces_as_meant() => self.normal_side.set_everywhere(),
            Searched::Crosses => self.normal_side.set_at(search.outer_sheet(&self.mesh)),
            Searched::Clear | Searched::GivenUp | Searched::Unfinished => {}
        }
        found != Searched::Unfinished
    }

    /// A point beyond all triangles is outside by the normal of what is nearest to it, or inside for a lumen. One such
    /// point tells for all of an embedded surface.
    fn faces_as_meant(&self) -> bool {
        let beyond = self.bounds().max.as_dvec3() + self.bounds().diagonal();
        let nearest = self.nearest(beyond, f64::INFINITY, None);
        nearest.is_some_and(|NearestTriangle { triangle, closest }| {
            let normal = pseudonormal(&self.mesh, triangle, closest.feature);
            let outwards = if self.is_lumen { -normal.direction } else { normal.direction };
            normal.complete && (beyond - closest.point).dot(outwards) > 0.0
        })
    }

    /// Takes over what was found out about a surface that has the same triangles in the same places.
    pub fn take_findings_of(&mut self, other: &Surface) {
        self.normal_side = other.normal_side.clone();
    }

    /// The surface has no open edge: the side changes only at a triangle.
    pub fn is_closed(&self) -> bool {
        self.topology.closed()
    }

    /// The edges at which the surface is open.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Whether, within `radius` metres of a point, the side changes only at triangles. `certainty`: of the point's sign.
    pub fn side_holds(&self, p: DVec3, certainty: f64, radius: f64) -> bool {
        !self.boundary.is_near(p, radius)
            || certainty > 2.0 * radius * self.boundary.gradient_bound(p, radius)
    }

    /// A radius in which [`Surface::side_holds`], metres: `radius` times a power of two from 1/2 to 8, or 0.
    pub fn side_reach(&self, p: DVec3, certainty: f64, radius: f64) -> f64 {
        // Five tries and not a search: the reach only saves questions, so it need not be the largest.
        let reaches = [8.0, 4.0, 2.0, 1.0, 0.5].map(|times| times * radius);
        reaches.into_iter().find(|r| self.side_holds(p, certainty, *r)).unwrap_or(0.0)
    }

    /// The certainty of a point's side: 1 where the surface is not open about it and encloses no point negatively.
    /// `nearest`: the triangle nearest to the point. 0 when the time is over before that is known.
    pub fn certainty_about(&self, p: DVec3, nearest: TriangleId, time: &TimeLeft) -> f64 {
        let may_cross = || {
            self.is_closed()
                && self.is_by_winding_at(nearest)
                && self.bounds().distance_squared(p) == 0.0
        };
        let is_near = self.boundary.is_near(p, 0.0) || may_cross();
        if !is_near {
            return 1.0;
        }
        let found = self.signed_distance_in_time(p, f64::INFINITY, None, time);
        found.map_or(if time.was_over() { 0.0 } else { 1.0 }, |d| d.certainty)
    }

    /// The box of all triangles, exact.
    pub fn bounds(&self) -> &Aabb {
        self.list.bounds()
    }

    /// How far a point is from the box of all that is inside, metres, squared; 0 within it.
    pub fn inside_distance_squared(&self, p: DVec3) -> f64 {
        if self.is_lumen { 0.0 } else { self.bounds().distance_squared(p) }
    }

    /// Whether a box may hold something that is inside.
    pub fn may_be_inside(&self, b: &Aabb) -> bool {
        self.is_lumen || self.bounds().overlaps(b)
    }

    /// Gives every triangle whose box passes to `visit`, until that says no.
    pub fn overlap<V: Visited>(&self, test: &impl BoxTest, visit: impl FnMut(TriangleId) -> V) {
        self.list.overlap(test, visit);
    }

    /// The nearest triangle within `max_distance` metres, the smallest id among equals. A good `hint` makes
    /// it faster and changes nothing else.
    pub fn nearest(
        &self,
        to: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> Option<NearestTriangle> {
        self.list.nearest(to, max_distance, hint)
    }

    /// [`Surface::nearest`] until the time is over: then the nearest of the triangles that were looked at.
    pub fn nearest_in_time(
        &self,
        to: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Option<NearestTriangle> {
        self.list.nearest_in_time(to, max_distance, hint, time)
    }

    /// The signed distance of a point, when the surface is within `max_distance` metres.
    pub fn signed_distance(
        &self,
        p: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> Option<SignedNearest> {
        self.signed_distance_in_time(p, max_distance, hint, &TimeLeft::endless())
    }

    /// [`Surface::signed_distance`]; `None` also when the time is over before it is known.
    pub fn signed_distance_in_time(
        &self,
        p: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        let NearestTriangle { triangle, closest } =
            self.nearest_in_time(p, max_distance, hint, time)?;
        if time.was_over() {
            return None;
        }
        self.signed(p, triangle, closest, time)
    }

    /// [`Surface::signed_distance_in_time`] of a point that is asked for again and again: the same answer, and faster while
    /// the point moves little.
    pub fn signed_distance_tracked(
        &self,
        p: DVec3,
        max_distance: f64,
        point: &mut TrackedPoint,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        let nearest = self.list.nearest_tracked(p, max_distance, &mut point.tangents, time);
        let NearestTriangle { triangle, closest } = nearest.filter(|_| !time.was_over())?;
        let radius = closest.distance_squared.sqrt() - SIDE_IS_CLEAR * self.bounds().diagonal();
        let witness = if !self.asks_winding(triangle, &closest) {
            SideWitness::Normal(point.normal_at(&self.mesh, triangle, closest.feature))
        } else if self.is_closed() && radius > 0.0 {
            let count = || self.winding_in_time(p, time);
            SideWitness::Winding(point.winding_at(p, radius, count)?)
        } else {
            SideWitness::Winding(self.winding_in_time(p, time)?)
        };
        Some(self.signed_by(p, triangle, closest, &witness))
    }

    /// The signed distance of a point whose nearest triangle, and closest point on it, are known; `None` when the time is
    /// over before its side is known.
    pub fn signed(
        &self,
        p: DVec3,
        triangle: TriangleId,
        closest: ClosestPoint,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        self.signed_by_winding(p, triangle, closest, || self.winding_in_time(p, time))
    }

    /// [`Surface::signed`] with the winding number around `p`, which may count surfaces beside this one; `None` where it is
    /// asked for and not known.
    pub fn signed_by_winding(
        &self,
        p: DVec3,
        triangle: TriangleId,
        closest: ClosestPoint,
        winding: impl FnOnce() -> Option<Winding>,
    ) -> Option<SignedNearest> {
        let witness = if self.asks_winding(triangle, &closest) {
            SideWitness::Winding(winding()?)
        } else {
            SideWitness::Normal(pseudonormal(&self.mesh, triangle, closest.feature))
        };
        Some(self.signed_by(p, triangle, closest, &witness))
    }

    /// Whether the winding number tells the side of a point whose nearest triangle is known.
    fn asks_winding(&self, nearest: TriangleId, closest: &ClosestPoint) -> bool {
        // A ray from a point on the surface meets an edge of it, and the number is the mean of both sides.
        let is_on = || closest.distance_squared.sqrt() <= ON_SURFACE * self.bounds().diagonal();
        self.is_by_winding_at(nearest) && !is_on()
    }

    /// [`Surface::signed`] with what tells the side.
    fn signed_by(
        &self,
        p: DVec3,
        triangle: TriangleId,
        closest: ClosestPoint,
        witness: &SideWitness,
    ) -> SignedNearest {
        debug_assert!(p.is_finite() && closest.distance_squared >= 0.0, "{closest:?} from {p}");
        let (away, distance) = (p - closest.point, closest.distance_squared.sqrt());
        let side = Side::of(away, witness, self.topology.closed());
        let (winding, is_either) = match witness {
            SideWitness::Winding(winding) => (Some(winding.number), false),
            // On an open surface one side is as true as the other, and so on one that crosses itself.
            SideWitness::Normal(_) => (None, self.is_by_winding_at(triangle)),
        };
        let certainty = if is_either { 1.0 } else { side.certainty };
        let normal = side.outwards(away, || match witness {
            SideWitness::Normal(normal) => *normal,
            SideWitness::Winding(_) => pseudonormal(&self.mesh, triangle, closest.feature),
        });
        let signed_distance = distance * side.sign();
        debug_assert!(winding.is_none_or(f64::is_finite), "{winding:?} around {p}");
        SignedNearest { signed_distance, triangle, closest, normal, certainty, winding }
    }

    /// The winding number around a point, on the surface that of triangles seen edge on. O(n) where no ray is clear of
    /// the edges, as in a soup of slivers, and a ray meets as many boxes as overlap there: 25 ns for each triangle at
    /// most, 5 ms for 200 k.
    pub fn winding(&self, p: DVec3) -> Winding {
        self.winding_in_time(p, &TimeLeft::endless()).expect("there is time")
    }

    /// [`Surface::winding`]; `None` when the time is over before it is known.
    pub fn winding_in_time(&self, p: DVec3, time: &TimeLeft) -> Option<Winding> {
        // Near an open end the side changes without a triangle: the winding number says so, a normal cannot.
        let counted = counted_winding(&self.list, &self.mesh, self.boundary.cap(), p, time);
        let summed = || {
            let in_time = self.mesh.triangle_ids().take_while(|_| !time.is_over());
            let number = winding_of(in_time.inspect(|_| note_step()), &self.mesh, p);
            Winding { number, error: 0.0 }
        };
        let own = counted.unwrap_or_else(summed);
        // What is all around a lumen is a body whose outside is infinitely far away.
        let around = Winding { number: own.number + f64::from(self.is_lumen), ..own };
        (!time.was_over()).then_some(around)
    }

    /// Whether a point is inside, and how certain that is. Works at any distance.
    pub fn contains(&self, p: DVec3) -> (bool, f64) {
        self.signed_distance(p, f64::INFINITY, None)
            .map_or((false, 0.0), |d| (d.signed_distance < 0.0, d.certainty))
    }

    /// Moves vertices: `vertices` and `positions` are of one length, no vertex is named twice.
    pub fn move_vertices(&mut self, vertices: &[u32], positions: &[Vec3]) -> Updated {
        debug_assert_eq!(vertices.len(), positions.len(), "a place for each vertex");
        for (v, p) in vertices.iter().zip(positions) {
            self.mesh.move_vertex(*v, *p);
        }
        if !self.seams_changed(Some(vertices)) {
            self.boundary.follow_some(&self.mesh, vertices);
        }
        note_hubs(&mut self.mesh);
        self.normal_side = NormalSide::default();
        let updated = self.list.update(&self.mesh, vertices);
        self.quality.observe(updated.touched, &mut self.list, &self.mesh);
        updated
    }

    /// Moves all vertices: `[n_vertices]`.
    pub fn move_all(&mut self, positions: &[Vec3]) -> Updated {
        self.mesh.move_all(positions);
        if !self.seams_changed(None) {
            self.boundary.follow(&self.mesh);
        }
        note_hubs(&mut self.mesh);
        self.normal_side = NormalSide::default();
        let updated = self.list.update_all(&self.mesh);
        self.quality.observe(updated.touched, &mut self.list, &self.mesh);
        updated
    }

    /// Removes triangles that are there and adds vertices and triangles. Returns the first new triangle.
    pub fn edit(
        &mut self,
        removed: &[TriangleId],
        added_positions: &[Vec3],
        added: &[[u32; 3]],
    ) -> TriangleId {
        let first = TriangleId(self.mesh.triangle_id_end());
        self.normal_side = NormalSide::default();
        // Before anything changes: it counts the edges that are there now.
        let site = EditSite::new(&self.mesh, removed, added);
        for p in added_positions {
            self.mesh.add_vertex(*p);
        }
        for t in removed {
            self.mesh.remove_triangle(*t);
        }
        let added: Vec<TriangleId> = added.iter().map(|v| self.mesh.add_triangle(*v)).collect();
        self.topology.recount_edges(&self.mesh, &site);
        let loose = follow_edit(&mut self.mesh, site.vertices());
        let site = if loose.is_empty() { site } else { site.and(self.join_again(&loose)) };
        note_hubs(&mut self.mesh);
        self.list.edit(&self.mesh, removed, &added);
        self.about_changed(&site, first);
        first
    }

    /// After vertices moved, all where `moved` is none: joins and parts seams. False where all are as they were.
    fn seams_changed(&mut self, moved: Option<&[u32]>) -> bool {
        let loose = follow_moved(&mut self.mesh, moved);
        if !loose.is_empty() {
            let site = self.join_again(&loose);
            self.about_changed(&site, TriangleId(self.mesh.triangle_id_end()));
        }
        self.moved_seams = !loose.is_empty();
        self.moved_seams
    }

    /// Joins the seams of these vertices as they are now, and counts edges again.
    fn join_again(&mut self, loose: &[u32]) -> EditSite {
        let site = EditSite::of_seams(&self.mesh, loose);
        join_again(&mut self.mesh, loose);
        self.topology.recount_edges(&self.mesh, &site);
        site
    }

    /// Edges about the site have changed, and are counted. `first_added`: the first triangle that came.
    fn about_changed(&mut self, site: &EditSite, first_added: TriangleId) {
        self.topology.recount_bodies(&self.mesh, site, first_added);
        self.boundary = self.boundary.edited(&self.mesh, site.vertices());
    }

    /// A query visits this many times the nodes that it did after the last build.
    pub fn wear(&self) -> f64 {
        self.quality.wear()
    }

    /// The list is worth a [`Surface::rebuild`].
    pub fn is_worn(&self) -> bool {
        self.quality.is_worn()
    }

    /// Makes all that is known of the mesh anew, as it is now.
    pub fn rebuild(&mut self) {
        let normal_side = self.normal_side.clone();
        let rebuilt = Surface::unsearched(self.mesh.clone(), self.options);
        *self = Surface { normal_side, is_lumen: self.is_lumen, ..rebuilt };
    }

    /// Checks mesh, list and what is known of the edges against each other. O(n).
    pub fn assert_well_formed(&self) {
        self.mesh.assert_well_formed();
        assert_seams(&self.mesh);
        assert_hubs(&self.mesh);
        self.list.assert_well_formed(&self.mesh);
        let topology = Topology::of(&self.mesh);
        assert_eq!(self.topology.edges, topology.edges, "edges");
        assert_eq!(self.is_closed(), topology.closed());
        let is_uncounted = self.topology.bodies.is_none() && !self.is_closed();
        assert!(is_uncounted || self.topology.bodies == topology.bodies, "bodies");
        self.boundary.assert_of(&self.mesh);
        if !self.is_by_winding() {
            let found =
                CrossingSearch::of_all(&self.mesh).advance(&self.list, &self.mesh, usize::MAX);
            assert_eq!(found, Searched::Clear, "shown to be embedded");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{MeshData, winding::winding_number},
        oracle::{random::Random, shapes},
    };

    fn surface(data: MeshData) -> Surface {
        Surface::new(TriangleMesh::new(data), LatLonOptions::default())
    }

    /// Before and after it is known that nothing crosses, deformed, and where its wall crosses itself.
    #[test]
    fn inside_is_all_around_a_lumen() {
        let mut data = shapes::sphere(0.01, 6);
        data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        let n = data.positions.len() as u32;
        let mut lumen = Surface::of(TriangleMesh::new(data), LatLonOptions::default(), true);
        assert!(!lumen.is_by_winding(), "it is embedded");
        let check = |lumen: &Surface, seed: u64| {
            let mut random = Random::new(seed);
            for _ in 0..300 {
                let p = DVec3::from_array([(); 3].map(|()| random.range(-0.03, 0.03)));
                let number = 1.0 + crate::oracle::solid_angle::winding_number(lumen.mesh(), p);
                let found = lumen.signed_distance(p, f64::INFINITY, None).expect("a surface");
                let is_known = (number - number.round()).abs() < 1e-6 && number > -0.5;
                if is_known && found.closest.distance_squared > 1e-12 {
                    assert_eq!(found.signed_distance < 0.0, number > 0.5, "{p}: {found:?}");
                    assert_eq!(found.certainty, 1.0, "{p}: {found:?}");
                }
            }
            for far in [DVec3::X * 1e3, DVec3::new(-5.0, 7.0, 0.0)] {
                assert_eq!(lumen.contains(far), (true, 1.0));
            }
            assert_eq!(lumen.inside_distance_squared(DVec3::X), 0.0);
        };
        check(&lumen, 1);
        let wider: Vec<Vec3> = lumen.mesh().positions().iter().map(|p| *p * 1.3).collect();
        lumen.move_vertices(&(0..n).collect::<Vec<_>>(), &wider);
        assert!(lumen.is_by_winding(), "it is not known yet");
        check(&lumen, 2);
        let mut search = lumen.crossing_search();
        while !lumen.search_crossings(&mut search, 100) {}
        assert!(!lumen.is_by_winding());
        check(&lumen, 3);
        // One vertex through the wall on the other side.
        lumen.move_vertices(&[0], &[-1.5 * wider[0]]);
        check(&lumen, 4);
        lumen.rebuild();
        let mut search = lumen.crossing_search();
        while !lumen.search_crossings(&mut search, 100) {}
        check(&lumen, 5);
    }

    /// On faces, edges, vertices, the boundary and the cap of torn surfaces: no ray leaves such points clearly, and the
    /// winding number is counted, not summed over all triangles. On a face it is the mean of both sides, and the sign
    /// is as good as that of 0.
    #[test]
    fn on_the_surface_and_its_cap_winding_numbers_are_counted() {
        let seed = 9;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        for data in [shapes::sphere(0.05, 8), shapes::sheet(9, 8, 0.01), shapes::organ(1_000, 1)] {
            let mut data = shapes::torn(data, 12, &mut random);
            // Flat stays flat, but no edge leads through the middle of another triangle.
            let mut factor = || random.range(0.99, 1.01) as f32;
            data.positions.iter_mut().for_each(|p| *p *= Vec3::new(factor(), factor(), 1.0));
            let s = surface(data);
            let (mesh, cap) = (s.mesh(), s.boundary().cap());
            let time = TimeLeft::endless();
            let counted =
                |p: DVec3| counted_winding(&s.list, mesh, cap, p, &time).expect("a ray is clear");
            let is_near = |got: Winding, exact: f64| (got.number - exact).abs() < got.error + 1e-4;
            let corners = |t: &[u32; 3]| t.map(|v| mesh.position(v));
            let middle = |[a, b, c]: [DVec3; 3]| (a + b + c) / 3.0;
            for t in cap.triangles().iter().map(corners) {
                // Flat ones have no two sides.
                if (t[1] - t[0]).cross(t[2] - t[0]).length() > 1e-9 {
                    let (got, exact) = (counted(middle(t)), winding_number(mesh, middle(t)));
                    assert!(is_near(got, exact), "{got:?}, {exact} on the cap at {t:?}");
                }
            }
            for id in mesh.triangle_ids() {
                let t = mesh.triangle(id);
                let p = middle(t);
                let off = (t[1] - t[0]).cross(t[2] - t[0]).normalize() * 1e-8;
                let sides = [p + off, p - off].map(|p| winding_number(mesh, p));
                let (got, mean) = (counted(p), 0.5 * (sides[0] + sides[1]));
                assert!(is_near(got, mean), "{got:?}, {mean} on {id:?}");
                for p in [t[0], (t[0] + t[1]) * 0.5] {
                    counted(p);
                }
                let found = s.signed_distance(p, 1.0, None).expect("a surface");
                assert_eq!((found.winding, found.certainty), (None, 1.0), "on {id:?}");
            }
        }
    }

    /// A split ball is deformed, torn along its seams and put together again, cut without width: distances and sides are
    /// those of a surface that is made anew, and while it is whole those of the ball that was never split.
    #[test]
    fn seams_part_and_join_with_what_moves_them() {
        let seed = 21;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let whole = shapes::sphere(0.05, 4);
        let mut s = surface(shapes::split(whole.clone(), 0.3, &mut random));
        let ball = surface(whole);
        assert!(!s.is_by_winding() && s.boundary().is_empty());
        let mut rest = s.mesh().positions().to_vec();
        let mut search = s.crossing_search();
        let (mut n_open, mut n_closed) = (0, 0);
        for round in 0..120 {
            let n = s.mesh().positions().len();
            match round % 4 {
                0 => {
                    let some: Vec<u32> = (0..n as u32).filter(|_| random.f64() < 0.02).collect();
                    let to = |v: &u32| rest[*v as usize] * random.range(0.97, 1.03) as f32;
                    let to: Vec<Vec3> = some.iter().map(to).collect();
                    s.move_vertices(&some, &to);
                }
                1 => drop(s.move_all(&rest)),
                2 => {
                    // A triangle's corners come off, where they are.
                    let all: Vec<TriangleId> = s.mesh().triangle_ids().collect();
                    let t = all[random.below(all.len())];
                    let corners = s.mesh().corners(t);
                    rest.extend(s.mesh().vertices(t).map(|v| rest[v as usize]));
                    s.edit(&[t], &corners, &[[0, 1, 2].map(|k| n as u32 + k)]);
                }
                _ => {
                    let swollen: Vec<Vec3> = rest.iter().map(|p| *p * 1.1).collect();
                    s.move_all(&swollen);
                    s.move_all(&rest);
                }
            }
            search.follow(s.mesh());
            while !s.search_crossings(&mut search, 64) {}
            s.assert_well_formed();
            *(if s.is_closed() { &mut n_closed } else { &mut n_open }) += 1;
            let fresh = surface(s.mesh().data());
            assert_eq!(
                (s.sign_rule(), s.is_by_winding()),
                (fresh.sign_rule(), fresh.is_by_winding())
            );
            for _ in 0..20 {
                let p = random.unit_vector() * random.range(0.0, 0.08);
                let [own, other, of_ball] =
                    [&s, &fresh, &ball].map(|s| s.signed_distance(p, 1.0, None).expect("near"));
                let told = |found: &SignedNearest| (found.signed_distance, found.certainty);
                assert_eq!(told(&own), told(&other), "round {round} at {p}");
                if round % 4 != 0 {
                    assert_eq!(own.certainty, 1.0, "round {round} at {p}");
                    assert!((own.signed_distance - of_ball.signed_distance).abs() < 1e-9, "{p}");
                }
            }
        }
        assert!(n_open > 20 && n_closed > 60, "{n_open} open, {n_closed} closed");
    }

    #[test]
    fn stays_well_formed_while_it_trembles_and_travels() {
        let mut s = surface(shapes::organ(5_000, 1));
        s.assert_well_formed();
        let mut random = Random::new(7);
        let n = s.mesh().positions().len();
        for step in 0..200 {
            let reach = [1e-4, 1e-2, 1.0][step % 3];
            let vertices: Vec<u32> =
                (0..n as u32).filter(|_| random.f64() < [0.001, 0.05, 1.0][step / 3 % 3]).collect();
            let moved = |v: &u32| {
                let p = s.mesh().position(*v) + random.unit_vector() * reach * random.f64();
                p.as_vec3()
            };
            let positions: Vec<Vec3> = vertices.iter().map(moved).collect();
            let updated = s.move_vertices(&vertices, &positions);
            assert!(updated.touched.max(updated.relocated) <= s.mesh().n_triangles());
            s.assert_well_formed();
        }
    }
}
