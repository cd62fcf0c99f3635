//! Surfaces: a mesh with its index and its inside/outside rule. Each tissue and each link has one.

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
            hub_search::{assert_hubs, note_hubs, note_hubs_at},
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

/// A triangle mesh that answers distance queries and stays up to date while it is deformed and cut.
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
    /// Inside is all space around the surface: the winding number of each point is the surface's own plus one.
    is_lumen: bool,
}

/// The nearest point of a surface, and the side of the surface that the query point is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedNearest {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// Nearest triangle.
    pub triangle: TriangleId,
    /// Nearest point on that triangle.
    pub closest: ClosestPoint,
    /// Unit, outwards.
    pub normal: DVec3,
    /// 0 (the sign is a guess) to 1 (certain).
    pub certainty: f64,
    /// Winding number, if it decides the sign; never for a point on the surface, to rounding.
    pub winding: Option<f64>,
}

impl Surface {
    /// Indexes a mesh and, if the mesh is closed, finds out whether it crosses itself.
    pub fn new(mesh: TriangleMesh, options: LatLonOptions) -> Surface {
        Surface::of(mesh, options, false)
    }

    /// As [`Surface::new`], for a surface that is the wall of a lumen, which faces inwards, if `is_lumen`.
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
        // A closed surface has no boundary, and most surfaces are closed: nothing is then computed for it.
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

    /// Returns the current triangles.
    pub fn mesh(&self) -> &TriangleMesh {
        &self.mesh
    }

    /// Options that the index was built with.
    pub fn options(&self) -> LatLonOptions {
        self.options
    }

    /// Bytes allocated by mesh and list, spare capacity included.
    pub fn heap_bytes(&self) -> usize {
        self.mesh.heap_bytes()
            + self.list.heap_bytes()
            + self.boundary.heap_bytes()
            + self.normal_side.heap_bytes()
    }

    /// Rule that tells inside from outside while the surface does not cross itself.
    pub fn sign_rule(&self) -> SignRule {
        self.topology.sign_rule()
    }

    /// Number of edges joined by seams.
    pub fn welded_edges(&self) -> u32 {
        self.topology.edges.welded
    }

    /// Returns true if the last move of vertices parted or joined edges.
    pub fn has_moved_seams(&self) -> bool {
        self.moved_seams
    }

    /// Returns true if the winding number decides the side of some points: the surface is open, has several bodies, or
    /// is not known not to cross itself.
    pub fn is_by_winding(&self) -> bool {
        !(self.may_be_embedded() && self.normal_side.is_everywhere())
    }

    /// Returns true if the winding number decides the side of points whose nearest triangle is `t`.
    pub fn is_by_winding_at(&self, t: TriangleId) -> bool {
        !(self.may_be_embedded() && self.normal_side.is_at(t))
    }

    fn may_be_embedded(&self) -> bool {
        self.topology.sign_rule() == SignRule::Pseudonormal
    }

    /// Returns a search for crossings that starts from the findings about this surface so far.
    pub fn crossing_search(&self) -> CrossingSearch {
        if self.is_by_winding() {
            CrossingSearch::of_all(&self.mesh)
        } else {
            CrossingSearch::of_none(&self.mesh)
        }
    }

    /// Continues a search that has followed this surface's mesh, for at most `triangles_max` triangles, and records its
    /// findings. Returns true when the search is complete. Takes 0.5 to 1 us a triangle.
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

    /// Tests a point beyond all triangles: the normal of its nearest feature must say outside, or inside for a lumen.
    /// One such point decides for all of an embedded surface.
    fn faces_as_meant(&self) -> bool {
        let beyond = self.bounds().max.as_dvec3() + self.bounds().diagonal();
        let nearest = self.nearest(beyond, f64::INFINITY, None);
        nearest.is_some_and(|NearestTriangle { triangle, closest }| {
            let normal = pseudonormal(&self.mesh, triangle, closest.feature);
            let outwards = if self.is_lumen { -normal.direction } else { normal.direction };
            normal.complete && (beyond - closest.point).dot(outwards) > 0.0
        })
    }

    /// Copies the findings of a surface with identical triangles at identical positions.
    pub fn take_findings_of(&mut self, other: &Surface) {
        self.normal_side = other.normal_side.clone();
    }

    /// Returns true if the surface has no open edge: the side then changes only at a triangle.
    pub fn is_closed(&self) -> bool {
        self.topology.closed()
    }

    /// Open edges of the surface.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Returns true if the side changes only at triangles within `radius` metres of `p`. `certainty`: of the sign at
    /// `p`.
    pub fn side_holds(&self, p: DVec3, certainty: f64, radius: f64) -> bool {
        !self.boundary.is_near(p, radius)
            || certainty > 2.0 * radius * self.boundary.gradient_bound(p, radius)
    }

    /// Returns a radius for which [`Surface::side_holds`], in metres: `radius` times a power of two from 1/2 to 8, or
    /// 0.
    pub fn side_reach(&self, p: DVec3, certainty: f64, radius: f64) -> f64 {
        // Five tries suffice instead of a search: the reach only saves queries, so it need not be the largest.
        let reaches = [8.0, 4.0, 2.0, 1.0, 0.5].map(|times| times * radius);
        reaches.into_iter().find(|r| self.side_holds(p, certainty, *r)).unwrap_or(0.0)
    }

    /// Certainty of a point's side: 1 if the surface is not open near the point and does not enclose it negatively.
    /// `nearest`: the triangle nearest to the point. Returns 0 if the time is over before the certainty is known.
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

    /// Exact bounding box of all triangles.
    pub fn bounds(&self) -> &Aabb {
        self.list.bounds()
    }

    /// Squared distance from a point to the box of everything inside, square metres; 0 within the box.
    pub fn inside_distance_squared(&self, p: DVec3) -> f64 {
        if self.is_lumen { 0.0 } else { self.bounds().distance_squared(p) }
    }

    /// Returns true if a box may contain points that are inside.
    pub fn may_be_inside(&self, b: &Aabb) -> bool {
        self.is_lumen || self.bounds().overlaps(b)
    }

    /// Passes every triangle whose box passes the test to `visit`, until `visit` stops the search.
    pub fn overlap<V: Visited>(&self, test: &impl BoxTest, visit: impl FnMut(TriangleId) -> V) {
        self.list.overlap(test, visit);
    }

    /// Nearest triangle within `max_distance` metres; the smallest id among equally near ones. A good `hint` only makes
    /// the search faster.
    pub fn nearest(
        &self,
        to: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> Option<NearestTriangle> {
        self.nearest_in_time(to, max_distance, hint, &TimeLeft::endless())
    }

    /// As [`Surface::nearest`], but when the time is over it returns the nearest of the triangles visited so far.
    pub fn nearest_in_time(
        &self,
        to: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Option<NearestTriangle> {
        self.list.nearest(to, max_distance, hint, time)
    }

    /// Signed distance of a point, if the surface is within `max_distance` metres.
    pub fn signed_distance(
        &self,
        p: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> Option<SignedNearest> {
        self.signed_distance_in_time(p, max_distance, hint, &TimeLeft::endless())
    }

    /// As [`Surface::signed_distance`]; `None` also if the time is over before the distance is known.
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

    /// As [`Surface::signed_distance_in_time`], with an identical result, for a point that is queried repeatedly:
    /// faster while the point moves little.
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

    /// Signed distance of a point whose nearest triangle, and closest point on it, are known; `None` if the time is
    /// over before the side is known.
    pub fn signed(
        &self,
        p: DVec3,
        triangle: TriangleId,
        closest: ClosestPoint,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        self.signed_by_winding(p, triangle, closest, || self.winding_in_time(p, time))
    }

    /// As [`Surface::signed`] with a given winding number around `p`, which may include other surfaces; `None` if the
    /// winding number is needed and not known.
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

    /// Returns true if the winding number decides the side of a point whose nearest triangle is known.
    fn asks_winding(&self, nearest: TriangleId, closest: &ClosestPoint) -> bool {
        // A ray from a point on the surface meets an edge of it, and the winding number is the mean of both sides.
        let is_on = || closest.distance_squared.sqrt() <= ON_SURFACE * self.bounds().diagonal();
        self.is_by_winding_at(nearest) && !is_on()
    }

    /// As [`Surface::signed`], with a given witness of the side.
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
            // Both sides of an open surface are equally true, and so are those of a surface that crosses itself.
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

    /// Winding number around a point; on the surface, as for triangles seen edge on. O(n) if no ray is clear of the
    /// edges, as in a soup of slivers, and a ray meets as many boxes as overlap there: 25 ns a triangle at most, 5 ms
    /// for 200 k.
    pub fn winding(&self, p: DVec3) -> Winding {
        self.winding_in_time(p, &TimeLeft::endless()).expect("there is time")
    }

    /// As [`Surface::winding`]; `None` if the time is over before the winding number is known.
    pub fn winding_in_time(&self, p: DVec3, time: &TimeLeft) -> Option<Winding> {
        // Near an open end the side changes without a triangle: the winding number shows that, a normal cannot.
        let counted = counted_winding(&self.list, &self.mesh, self.boundary.cap(), p, time);
        let summed = || {
            let in_time = self.mesh.triangle_ids().take_while(|_| !time.is_over());
            let number = winding_of(in_time.inspect(|_| note_step()), &self.mesh, p);
            Winding { number, error: 0.0 }
        };
        let own = counted.unwrap_or_else(summed);
        // The inside of a lumen is a body whose outside is infinitely far away.
        let around = Winding { number: own.number + f64::from(self.is_lumen), ..own };
        (!time.was_over()).then_some(around)
    }

    /// Returns true if a point is inside, with the certainty of that. Works at any distance.
    pub fn contains(&self, p: DVec3) -> (bool, f64) {
        self.signed_distance(p, f64::INFINITY, None)
            .map_or((false, 0.0), |d| (d.signed_distance < 0.0, d.certainty))
    }

    /// Moves vertices: `vertices` and `positions` have the same length, and no vertex is named twice.
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

    /// Moves all vertices: `positions` is `[n_vertices]`.
    pub fn move_all(&mut self, positions: Vec<Vec3>) -> Updated {
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

    /// Removes existing triangles and adds vertices and triangles. Returns the first new triangle.
    pub fn edit(
        &mut self,
        removed: &[TriangleId],
        added_positions: &[Vec3],
        added: &[[u32; 3]],
    ) -> TriangleId {
        let first = TriangleId(self.mesh.triangle_id_end());
        self.normal_side = NormalSide::default();
        // The site is built before anything changes: it counts the edges that exist now.
        let site = EditSite::new(&self.mesh, removed, added);
        for p in added_positions {
            self.mesh.add_vertex(*p);
        }
        for t in removed {
            self.mesh.remove_triangle(*t);
        }
        let added: Vec<TriangleId> = added.iter().map(|v| self.mesh.add_triangle(*v)).collect();
        let has_open = self.topology.recount_edges(&self.mesh, &site);
        let loose = follow_edit(&mut self.mesh, site.vertices(), has_open);
        let site = if loose.is_empty() { site } else { site.and(self.join_again(&loose)) };
        note_hubs_at(&mut self.mesh, site.vertices());
        self.list.edit(&self.mesh, removed, &added);
        self.about_changed(&site, first);
        first
    }

    /// Joins and parts seams after vertices moved; `moved` is `None` if all moved. Returns false if no seam changed.
    fn seams_changed(&mut self, moved: Option<&[u32]>) -> bool {
        let loose = follow_moved(&mut self.mesh, moved);
        if !loose.is_empty() {
            let site = self.join_again(&loose);
            self.about_changed(&site, TriangleId(self.mesh.triangle_id_end()));
        }
        self.moved_seams = !loose.is_empty();
        self.moved_seams
    }

    /// Joins the seams of these vertices again by their current positions, and recounts edges.
    fn join_again(&mut self, loose: &[u32]) -> EditSite {
        let site = EditSite::of_seams(&self.mesh, loose);
        join_again(&mut self.mesh, loose);
        self.topology.recount_edges(&self.mesh, &site);
        site
    }

    /// Updates bodies and boundary after edges about the site changed and were counted. `first_added`: the first added
    /// triangle.
    fn about_changed(&mut self, site: &EditSite, first_added: TriangleId) {
        self.topology.recount_bodies(&self.mesh, site, first_added);
        self.boundary = self.boundary.edited(&self.mesh, site.vertices());
    }

    /// Nodes that a query visits, as a multiple of those after the last build.
    pub fn wear(&self) -> f64 {
        self.quality.wear()
    }

    /// Returns true if the list is worth a [`Surface::rebuild`].
    pub fn is_worn(&self) -> bool {
        self.quality.is_worn()
    }

    /// Rebuilds index, topology and boundary from the current mesh.
    pub fn rebuild(&mut self) {
        let normal_side = self.normal_side.clone();
        let rebuilt = Surface::unsearched(self.mesh.clone(), self.options);
        *self = Surface { normal_side, is_lumen: self.is_lumen, ..rebuilt };
    }

    /// Asserts that mesh, list and edge data agree with each other. O(n).
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
mod tests;
