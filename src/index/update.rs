//! Keeping the list true after triangles moved, came or went: a batch at a time, only where it changed.

use std::ops::RangeInclusive;

use super::{
    block::{Entry, Key, LANES, Strip},
    frame::centroid,
    skip_list::{Band, END, SkipList},
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, winding::Moments};

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Triangles whose box was looked at.
    pub touched: usize,
    /// Those that were filed elsewhere.
    pub relocated: usize,
}

/// When more than one in this many of a band's triangles leave or enter it at once, the band is sorted and
/// linked anew: a re-insertion costs about as much as sorting and linking four triangles in bulk.
const BULK_SHARE: usize = 4;

/// A triangle on its way to another place.
struct Move {
    band: u32,
    entry: Entry,
}

impl SkipList {
    /// Brings the list up to date with triangles whose vertices moved. Each that stays between its
    /// neighbours keeps its lane; the others are filed anew, in bulk where a band is much changed.
    pub fn update(
        &mut self,
        mesh: &TriangleMesh,
        moved: impl Iterator<Item = TriangleId>,
    ) -> Updated {
        let mut touched = 0;
        let mut moves = Vec::new();
        for t in moved {
            touched += 1;
            let (n, lane) = self.handle(t).expect("a triangle of the mesh is filed");
            moves.extend(self.update_in_place(mesh, n, self.keys_near(n), lane));
        }
        self.settle(mesh, touched, moves)
    }

    /// The same when all triangles may have moved: in the order in which they are filed, so that neighbours
    /// share what they read.
    pub fn update_all(&mut self, mesh: &TriangleMesh) -> Updated {
        let mut touched = 0;
        let mut moves = Vec::new();
        for band in 0..self.bands.len() {
            let mut n = self.bands[band].head;
            while n != END {
                let keys = self.keys_near(n);
                for lane in 0..self.blocks[n as usize].len() {
                    touched += 1;
                    moves.extend(self.update_in_place(mesh, n, keys.clone(), lane));
                }
                n = self.link(n, 0).next;
            }
        }
        self.settle(mesh, touched, moves)
    }

    fn settle(&mut self, mesh: &TriangleMesh, touched: usize, moves: Vec<Move>) -> Updated {
        let relocated = moves.len();
        self.relocate(moves, true);
        self.refit(mesh);
        Updated { touched, relocated }
    }

    /// Takes triangles out and files new ones. `removed` are not needed in the mesh any more.
    pub fn edit(&mut self, mesh: &TriangleMesh, removed: &[TriangleId], added: &[TriangleId]) {
        for t in removed {
            self.remove(*t);
        }
        self.reserve_ids(TriangleId(mesh.triangle_id_end()));
        let place = |t: &TriangleId| {
            let (band, key) = self.frame.file(centroid(mesh, *t));
            let entry = Entry { triangle: *t, key, bounds: mesh.triangle_box(*t) };
            Move { band: band as u32, entry }
        };
        let moves = added.iter().map(place).collect();
        self.relocate(moves, false);
        self.refit(mesh);
    }

    /// Sets the box of a filed triangle; says where it has to go when it cannot stay: `keys` are those that
    /// belong in its node or one of the two beside it.
    fn update_in_place(
        &mut self,
        mesh: &TriangleMesh,
        n: u32,
        keys: RangeInclusive<Key>,
        lane: usize,
    ) -> Option<Move> {
        let triangle = self.blocks[n as usize].triangles[lane];
        let (centroid, bounds) = (centroid(mesh, triangle), mesh.triangle_box(triangle));
        let band = self.nodes[n as usize].band as usize;
        let key = self.frame.key_in_band(centroid, band);
        if key.is_some_and(|key| keys.contains(&key)) {
            self.blocks[n as usize].boxes.set(lane, &bounds);
            self.touched.add(n);
            return None;
        }
        let (band, key) = self.frame.file(centroid);
        Some(Move { band: band as u32, entry: Entry { triangle, key, bounds } })
    }

    /// The keys that belong in this node or one of its two neighbours.
    fn keys_near(&self, n: u32) -> RangeInclusive<Key> {
        let node = &self.nodes[n as usize];
        let low = if node.prev == END { 0 } else { self.nodes[node.prev as usize].low_key };
        let next = self.link(n, 0).next;
        let after = if next == END { END } else { self.link(next, 0).next };
        let high = if after == END { Key::MAX } else { self.nodes[after as usize].low_key };
        low..=high
    }

    /// Carries out moves of filed (`from_list`) or new triangles, band by band: one by one where few enter,
    /// else in bulk.
    fn relocate(&mut self, mut moves: Vec<Move>, from_list: bool) {
        if from_list {
            for m in &moves {
                self.remove(m.entry.triangle);
            }
        }
        moves.sort_unstable_by_key(|m| (m.band, m.entry.key, m.entry.triangle));
        for run in moves.chunk_by(|a, b| a.band == b.band) {
            let band = run[0].band as usize;
            if run.len() * BULK_SHARE > self.bands[band].n_triangles {
                let mut entries: Vec<Entry> = self.band_entries(band).collect();
                entries.extend(run.iter().map(|m| m.entry));
                entries.sort_unstable_by_key(|e| (e.key, e.triangle));
                self.relink_band(band, &entries);
            } else {
                for m in run {
                    self.insert(band, m.entry);
                }
            }
        }
    }

    /// Drops emptied nodes and recomputes the boxes of all links above touched ones, once, bottom-up.
    pub(super) fn refit(&mut self, mesh: &TriangleMesh) {
        self.drop_empty();
        let nodes = self.touched.take();
        let mut owners: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut bands: Vec<u32> = Vec::new();
        for &n in &nodes {
            if self.nodes[n as usize].n_links == 0 {
                continue;
            }
            self.link_mut(n, 0).bounds = self.blocks[n as usize].boxes.union();
            if !self.moments.is_empty() {
                let block = &self.blocks[n as usize];
                let of = |t: &TriangleId| Moments::of_triangle(&mesh.triangle(*t));
                let sum = block.triangles[..block.len()].iter().map(of);
                let sum = sum.fold(Moments::NONE, |a, b| a.union(&b));
                self.moments[self.nodes[n as usize].tower as usize] = sum;
            }
            self.report_up(n, 0, &mut owners, &mut bands);
        }
        self.touched.reuse(nodes);
        let mut level = 1;
        while !owners.is_empty() {
            let run_starts = std::mem::take(&mut owners);
            for n in run_starts {
                self.refit_link(n, level);
                self.report_up(n, level, &mut owners, &mut bands);
            }
            level += 1;
        }
        bands.sort_unstable();
        bands.dedup();
        for band in bands {
            self.refit_band(band as usize);
        }
        self.bounds = self.bands.iter().fold(Aabb::EMPTY, |b, band| b.union(&band.bounds));
    }

    /// Notes who has to be recomputed after the link of `n` at `level`, once each.
    fn report_up(&mut self, n: u32, level: usize, owners: &mut Vec<u32>, bands: &mut Vec<u32>) {
        let band = self.nodes[n as usize].band;
        if level >= self.bands[band as usize].top {
            bands.push(band);
            return;
        }
        let owner = self.link(n, level).owner;
        // A link that waits to be recomputed is marked by a box that nothing else has.
        let waiting = &mut self.link_mut(owner, level + 1).bounds;
        if !is_waiting(waiting) {
            *waiting = WAITING;
            owners.push(owner);
        }
    }

    fn refit_link(&mut self, n: u32, level: usize) {
        let end = self.link(n, level).next;
        let strip = self.link(n, level).strip;
        let strip = self.refit_strip(strip, n, end, level - 1);
        let (bounds, moments) = self.union_of_run(n, end, level - 1);
        let link = self.link_mut(n, level);
        (link.bounds, link.strip) = (bounds, strip);
        if !self.moments.is_empty() {
            self.moments[self.nodes[n as usize].tower as usize + level] = moments;
        }
    }

    fn refit_band(&mut self, band: usize) {
        let Band { head, top, strip, .. } = self.bands[band];
        let strip = self.refit_strip(strip, head, END, top);
        let (bounds, moments) = self.union_of_run(head, END, top);
        let here = &mut self.bands[band];
        (here.bounds, here.moments, here.strip) = (bounds, moments, strip);
        self.band_table[band / LANES].boxes.set(band % LANES, &bounds);
    }

    /// Copies the boxes of a run into its strip, a new one when it has none yet.
    fn refit_strip(&mut self, strip: u32, start: u32, end: u32, level: usize) -> u32 {
        let mut filled = Strip::EMPTY;
        let mut n = start;
        while n != end && (filled.len as usize) < LANES {
            let (lane, link) = (filled.len as usize, self.link(n, level));
            filled.boxes.set(lane, &link.bounds);
            filled.nodes[lane] = n;
            filled.len += 1;
            n = link.next;
        }
        filled.rest = if n == end { END } else { n };
        let at = match strip {
            END => self.free_strips.pop().unwrap_or_else(|| {
                self.strips.push(Strip::EMPTY);
                (self.strips.len() - 1) as u32
            }),
            at => at,
        };
        self.strips[at as usize] = filled;
        at
    }

    /// Of the links at `level` from `start` up to `end`.
    pub(super) fn union_of_run(&self, start: u32, end: u32, level: usize) -> (Aabb, Moments) {
        let (mut bounds, mut moments) = (Aabb::EMPTY, Moments::NONE);
        let mut n = start;
        while n != end {
            let link = self.link(n, level);
            bounds = bounds.union(&link.bounds);
            if !self.moments.is_empty() {
                moments =
                    moments.union(&self.moments[self.nodes[n as usize].tower as usize + level]);
            }
            n = link.next;
        }
        (bounds, moments)
    }

    /// Unlinks every touched node whose block is empty, heads excepted.
    fn drop_empty(&mut self) {
        let mut i = 0;
        while let Some(&n) = self.touched.nodes.get(i) {
            let node = &self.nodes[n as usize];
            let is_head = self.bands[node.band as usize].head == n;
            if node.n_links > 0 && !is_head && self.blocks[n as usize].len() == 0 {
                self.unlink_empty(n);
            }
            i += 1;
        }
    }
}

/// Marks a link whose box is to be recomputed.
const WAITING: Aabb = Aabb { min: glam::Vec3::NAN, max: glam::Vec3::NAN };

fn is_waiting(b: &Aabb) -> bool {
    b.min.x.is_nan()
}
