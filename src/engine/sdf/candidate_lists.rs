//! Candidate lists of a grid's cells, in the smallest form that is fast to read: they are half of a field.

use std::ops::Range;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    candidates::{Candidates, FarWinding, ListSide, winding_of},
    short_bound::ShortBound,
    trilinear::trilinear,
};
use crate::geometry::{
    TriangleId, TriangleMesh,
    distance::{
        point_triangle::{ClosestPoint, closest_point},
        point_triangles::TriangleLanes,
    },
    lanes::{LANES, least_lane},
    mesh::pseudonormal::Pseudonormal,
    side::{Side, SideWitness},
    tolerance::CANDIDATE_ROUNDING,
    winding::Winding,
};

/// All lists, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CandidateLists {
    heads: Vec<ListHead>,
    ids: Ids,
    /// Shell of the first triangle of every eight of a list; see [`first_shell`].
    shells: Vec<u8>,
    /// Far windings with the number of their list, ascending.
    far_windings: Vec<(u32, FarWinding)>,
}

/// Start of a list, which ends at the start of the next. Eight bytes, since links have hundreds of thousands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct ListHead {
    /// Index of its first triangle.
    ids: u32,
    /// Width of a shell around the cell's centre, metres.
    shell: ShortBound,
    side: ListSide<()>,
}

const _: () = assert!(size_of::<ListHead>() == 8);

/// Triangle ids. Most links have few enough triangles for two bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Ids {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

/// A cell's list. A search visits it by distance from the centre and stops when the remaining triangles cannot be
/// nearer.
#[derive(Clone, Copy)]
pub(super) struct CandidateList<'a> {
    lists: &'a CandidateLists,
    number: usize,
    head: &'a ListHead,
    end: usize,
}

/// Index of the first shell of list `number`, whose first triangle is at `ids`. No list has more shells than this
/// leaves space for, as n / 8, rounded up, is at most (ids + n) / 8 - ids / 8 + 1, each rounded down.
fn first_shell(number: usize, ids: usize) -> usize {
    ids / LANES + number
}

impl CandidateLists {
    /// Empty lists for a link with this many ids.
    pub(super) fn new(triangle_id_end: u32) -> CandidateLists {
        let is_short = triangle_id_end <= 1 << u16::BITS;
        CandidateLists {
            heads: Vec::new(),
            ids: if is_short { Ids::Short(Vec::new()) } else { Ids::Long(Vec::new()) },
            shells: Vec::new(),
            far_windings: Vec::new(),
        }
    }

    /// Adds a list and returns its number.
    pub(super) fn add(&mut self, list: &Candidates) -> u32 {
        debug_assert_eq!(list.shells.len(), list.triangles.len().div_ceil(LANES));
        let (number, ids) = (self.heads.len(), self.ids.len());
        let side = match list.side {
            ListSide::Inside => ListSide::Inside,
            ListSide::Outside => ListSide::Outside,
            ListSide::Normal => ListSide::Normal,
            ListSide::Winding(far) => {
                self.far_windings.push((number as u32, far));
                ListSide::Winding(())
            }
        };
        self.heads.push(ListHead {
            ids: u32::try_from(ids).expect("as many as fit into memory"),
            shell: list.shell,
            side,
        });
        self.ids.extend(&list.triangles);
        self.shells.resize(first_shell(number, ids), 0);
        self.shells.extend(&list.shells);
        number as u32
    }

    #[inline(always)]
    pub(super) fn get(&self, n: u32) -> CandidateList<'_> {
        let number = n as usize;
        let end = self.heads.get(number + 1).map_or(self.ids.len(), |next| next.ids as usize);
        CandidateList { lists: self, number, head: &self.heads[number], end }
    }

    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    /// Releases spare capacity.
    pub(super) fn shrink(&mut self) {
        self.heads.shrink_to_fit();
        self.ids.shrink();
        self.shells.shrink_to_fit();
        self.far_windings.shrink_to_fit();
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.heads[..])
            + self.ids.bytes()
            + size_of_val(&self.shells[..])
            + size_of_val(&self.far_windings[..])
    }

    pub(super) fn is_well_formed(&self, mesh: &TriangleMesh, by_winding: bool) -> bool {
        let ends = self.heads.iter().skip(1).map(|next| next.ids as usize).chain([self.ids.len()]);
        let has_place = |(number, (head, end)): (usize, (&ListHead, usize))| {
            let ids = head.ids as usize;
            let n_shells = end.saturating_sub(ids).div_ceil(LANES);
            ids < end && first_shell(number, ids) + n_shells <= self.shells.len()
        };
        let of_windings = self.far_windings.iter().map(|(number, _)| *number as usize);
        let told = self.heads.iter().enumerate();
        let told = told.filter(|(_, head)| head.side == ListSide::Winding(()));
        self.heads.first().map_or(self.ids.len() == 0, |first| first.ids == 0)
            && self.heads.iter().zip(ends).enumerate().all(has_place)
            && told.map(|(number, _)| number).eq(of_windings)
            && (by_winding || self.far_windings.is_empty())
            && self.far_windings.iter().all(|(_, far)| far.iter().all(|w| w.is_finite()))
            && (0..self.len() as u32).all(|n| self.get(n).is_well_formed(mesh))
    }
}

impl Ids {
    fn len(&self) -> usize {
        match self {
            Ids::Short(ids) => ids.len(),
            Ids::Long(ids) => ids.len(),
        }
    }

    #[inline(always)]
    fn get(&self, i: usize) -> TriangleId {
        TriangleId(match self {
            Ids::Short(ids) => u32::from(ids[i]),
            Ids::Long(ids) => ids[i],
        })
    }

    fn extend(&mut self, triangles: &[TriangleId]) {
        match self {
            Ids::Short(ids) => ids.extend(triangles.iter().map(|t| t.0 as u16)),
            Ids::Long(ids) => ids.extend(triangles.iter().map(|t| t.0)),
        }
    }

    fn shrink(&mut self) {
        match self {
            Ids::Short(ids) => ids.shrink_to_fit(),
            Ids::Long(ids) => ids.shrink_to_fit(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Ids::Short(ids) => size_of_val(&ids[..]),
            Ids::Long(ids) => size_of_val(&ids[..]),
        }
    }
}

impl CandidateList<'_> {
    pub(super) fn len(&self) -> usize {
        self.end - self.head.ids as usize
    }

    fn triangles(&self) -> impl Iterator<Item = TriangleId> + Clone + '_ {
        (self.head.ids as usize..self.end).map(|i| self.lists.ids.get(i))
    }

    /// Groups of eight triangles, each with the shell of its first.
    fn eights(&self) -> impl Iterator<Item = (Range<usize>, u32)> + '_ {
        let start = self.head.ids as usize;
        let first_shell = first_shell(self.number, start);
        (0..self.len().div_ceil(LANES)).map(move |k| {
            let first = start + k * LANES;
            let shell = self.lists.shells[first_shell + k];
            (first..(first + LANES).min(self.end), u32::from(shell))
        })
    }

    /// Nearest triangle to `p`, which is `from_centre` metres from the cell's centre; the smallest id among equally
    /// near ones.
    pub(super) fn nearest(
        &self,
        mesh: &TriangleMesh,
        p: DVec3,
        from_centre: f64,
    ) -> (TriangleId, ClosestPoint) {
        debug_assert!(from_centre >= 0.0 && p.is_finite(), "{from_centre} m, {p}");
        let mut best: Option<(TriangleId, ClosestPoint)> = None;
        // Limits of the search: triangles farther than `wanted` and shells beyond `end` are skipped.
        let (mut wanted, mut end) = (f64::INFINITY, u32::MAX);
        for (eight, shell) in self.eights() {
            if shell > end {
                break;
            }
            let first = eight.start;
            let corners = |i: usize| {
                mesh.vertices(self.lists.ids.get(i)).map(|v| mesh.positions()[v as usize])
            };
            // Eight lower bounds in f32, then the exact distance in f64 if a bound does not decide: the result is
            // identical, and a list of the probe takes 0.7 of the time.
            let mut below = TriangleLanes::new(eight.map(corners)).distances_below(p);
            loop {
                let lane = least_lane(&below);
                if f64::from(below[lane]) > wanted || below[lane] == f32::INFINITY {
                    break;
                }
                below[lane] = f32::INFINITY;
                let t = self.lists.ids.get(first + lane);
                let found = closest_point(p, &mesh.triangle(t));
                let d = found.distance_squared;
                let is_nearer = |(other, least): &(TriangleId, ClosestPoint)| {
                    // Lists are not ordered by id, so a tie is decided by id here.
                    d < least.distance_squared || d == least.distance_squared && t < *other
                };
                if best.as_ref().is_none_or(is_nearer) {
                    best = Some((t, found));
                    wanted = d.sqrt() * (1.0 + CANDIDATE_ROUNDING);
                    end = self.last_shell(d, from_centre);
                }
            }
        }
        best.expect("a list names one triangle at least")
    }

    /// Last shell that can contain an equally near triangle.
    fn last_shell(&self, distance_squared: f64, from_centre: f64) -> u32 {
        let reach = (distance_squared.sqrt() + from_centre) * (1.0 + CANDIDATE_ROUNDING);
        (reach / self.head.shell.value()) as u32
    }

    /// Side of a point of the cell. `away`: from its nearest point on the feature of a triangle, metres; `fraction`:
    /// its position in the cell, from the first corner.
    pub(super) fn side(
        &self,
        mesh: &TriangleMesh,
        (p, fraction): (DVec3, DVec3),
        away: DVec3,
        normal: impl FnOnce() -> Pseudonormal,
    ) -> Side {
        let witness = match self.head.side {
            ListSide::Inside => return Side { inside: true, certainty: 1.0 },
            ListSide::Outside => return Side { inside: false, certainty: 1.0 },
            ListSide::Normal => SideWitness::Normal(normal()),
            ListSide::Winding(()) => {
                let number = self.winding_at(mesh, p, fraction);
                SideWitness::Winding(Winding { number, error: 0.0 })
            }
        };
        Side::of(away, &witness, false)
    }

    /// Winding number of the whole surface at `p`. `fraction`: position in the cell, from the first corner.
    fn winding_at(&self, mesh: &TriangleMesh, p: DVec3, fraction: DVec3) -> f64 {
        let all = &self.lists.far_windings;
        let at = all.binary_search_by_key(&(self.number as u32), |(number, _)| *number);
        let far = all[at.expect("a list by winding has one")].1.map(f64::from);
        trilinear(&far, fraction).0 + winding_of(mesh, self.triangles(), p)
    }

    fn is_well_formed(&self, mesh: &TriangleMesh) -> bool {
        self.triangles().all(|t| mesh.get(t).is_some())
            && self.eights().map(|(_, shell)| shell).is_sorted()
            && self.head.shell.is_well_formed()
            && self.head.shell.value() > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{geometry::MeshData, oracle::Random};

    /// Lists of any length, one after the other, of short ids and of long ones.
    #[test]
    fn each_list_is_read_as_it_was_added() {
        let mut random = Random::new(4);
        for id_end in [1_000, 70_000] {
            let mut lists = CandidateLists::new(id_end);
            let added: Vec<Candidates> = (0..500).map(|_| any(id_end, &mut random)).collect();
            for (number, list) in added.iter().enumerate() {
                assert_eq!(lists.add(list), number as u32);
            }
            lists.shrink();
            let positions = vec![glam::Vec3::ZERO; 3];
            let triangles = vec![[0, 1, 2]; id_end as usize];
            let mesh = TriangleMesh::new(MeshData { positions, triangles });
            assert!(lists.is_well_formed(&mesh, true) && !lists.is_well_formed(&mesh, false));
            for (number, list) in added.iter().enumerate() {
                let read = lists.get(number as u32);
                assert_eq!((read.len(), read.head.shell), (list.triangles.len(), list.shell));
                assert!(read.triangles().eq(list.triangles.iter().copied()));
                assert!(
                    read.eights().map(|(_, shell)| shell as u8).eq(list.shells.iter().copied())
                );
                let far = lists.far_windings.iter().find(|(n, _)| *n == number as u32);
                let told = match (read.head.side, far) {
                    (ListSide::Inside, None) => ListSide::Inside,
                    (ListSide::Outside, None) => ListSide::Outside,
                    (ListSide::Normal, None) => ListSide::Normal,
                    (ListSide::Winding(()), Some((_, far))) => ListSide::Winding(*far),
                    (side, far) => panic!("{side:?} with {far:?}"),
                };
                assert_eq!(told, list.side);
            }
        }
    }

    fn any(id_end: u32, random: &mut Random) -> Candidates {
        let n = 1 + random.below(40);
        let mut shells: Vec<u8> = (0..n.div_ceil(LANES)).map(|_| random.below(256) as u8).collect();
        shells.sort_unstable();
        let side = match random.below(4) {
            0 => ListSide::Inside,
            1 => ListSide::Outside,
            2 => ListSide::Normal,
            _ => ListSide::Winding([random.f64() as f32; 8]),
        };
        Candidates {
            triangles: (0..n).map(|_| TriangleId(random.below(id_end as usize) as u32)).collect(),
            shell: ShortBound::above(random.f64()),
            shells,
            side,
        }
    }
}
