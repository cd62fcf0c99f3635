//! The vertices of each control, and the places to which controls carry them.

use std::ops::Range;

use glam::{DMat3, DVec3, Vec3};

use super::{id_set::IdSet, vertex_weights::VertexWeights};
#[cfg(target_arch = "x86_64")]
use crate::geometry::four_lanes::Wide;
use crate::geometry::four_lanes::{Four, FourLanes, Portable};

/// Runs of consecutive vertices with the same controls. Neighbours mostly are in one cell of a solver's mesh, so there
/// are fewer runs than vertices, and the controls of a run are looked up once.
#[derive(Clone, Debug)]
pub(super) struct ControlRuns {
    /// Start of each run, and the end of the last.
    starts: Vec<RunStart>,
    /// Controls of the first run, of the second, and so on: a few in a row, where those of the vertices are far apart.
    controls: Vec<u32>,
    /// End of the runs of each control in `runs`, after a 0.
    ends: Vec<u32>,
    /// Runs of the first control, of the second, and so on.
    runs: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct RunStart {
    vertex: u32,
    /// Start in `controls`.
    control: u32,
}

/// The controls that carry vertices, all of them as they are now.
pub(super) enum Carriers<'a> {
    Points(&'a [Vec3]),
    /// Motions of frames from rest, and the vertices with the frames at rest.
    Frames(&'a [RigidMotion], &'a [Vec3]),
}

/// Motion of a frame from rest.
pub(super) struct RigidMotion {
    pub(super) turn: DMat3,
    pub(super) shift: DVec3,
}

impl RigidMotion {
    pub(super) fn apply(&self, at: DVec3) -> DVec3 {
        self.turn * at + self.shift
    }
}

impl ControlRuns {
    pub(super) fn of(weights: &VertexWeights, n_controls: usize) -> ControlRuns {
        let n_vertices = weights.n_vertices() as u32;
        let (mut starts, mut controls) = (Vec::new(), Vec::new());
        let mut before: &[u32] = &[];
        for vertex in 0..n_vertices {
            let (of_vertex, _) = weights.row(vertex as usize);
            if of_vertex != before {
                starts.push(RunStart { vertex, control: controls.len() as u32 });
                controls.extend_from_slice(of_vertex);
                before = of_vertex;
            }
        }
        starts.push(RunStart { vertex: n_vertices, control: controls.len() as u32 });
        starts.shrink_to_fit();
        controls.shrink_to_fit();
        let mut ends = vec![0; n_controls + 1];
        controls.iter().for_each(|c| ends[*c as usize + 1] += 1);
        for c in 0..n_controls {
            ends[c + 1] += ends[c];
        }
        let (mut next, mut runs) = (ends.clone(), vec![0; controls.len()]);
        for (run, [start, end]) in (0..).zip(starts.array_windows()) {
            for c in &controls[start.control as usize..end.control as usize] {
                runs[next[*c as usize] as usize] = run;
                next[*c as usize] += 1;
            }
        }
        ControlRuns { starts, controls, ends, runs }
    }

    /// Returns all runs.
    pub(super) fn all(&self) -> Range<u32> {
        0..self.starts.len() as u32 - 1
    }

    /// Returns the vertices of a run.
    pub(super) fn vertices(&self, run: u32) -> Range<u32> {
        self.starts[run as usize].vertex..self.starts[run as usize + 1].vertex
    }

    fn controls(&self, run: u32) -> &[u32] {
        let [start, end] = [run, run + 1].map(|run| self.starts[run as usize].control as usize);
        &self.controls[start..end]
    }

    /// Returns the runs that some controls carry, ascending. O(controls + such runs), and a bit for each run.
    pub(super) fn carried_by(&self, is_carrier: &[bool]) -> Vec<u32> {
        let mut runs = IdSet::below(self.starts.len());
        for c in (0..is_carrier.len()).filter(|c| is_carrier[*c]) {
            let of_control = self.ends[c] as usize..self.ends[c + 1] as usize;
            runs.extend(self.runs[of_control].iter().copied());
        }
        runs.to_vec()
    }

    /// Calls `put` with each vertex of some runs, and the weighted sum of the places to which its controls carry it.
    pub(super) fn carry(
        &self,
        runs: impl Iterator<Item = u32>,
        weights: &VertexWeights,
        carriers: &Carriers,
        put: impl FnMut(u32, Vec3),
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = Wide::here() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { carry_wide(lanes, self, runs, weights, carriers, put) };
        }
        self.carry_by(Portable, runs, weights, carriers, put);
    }

    #[inline(always)]
    fn carry_by<L: FourLanes>(
        &self,
        lanes: L,
        runs: impl Iterator<Item = u32>,
        weights: &VertexWeights,
        carriers: &Carriers,
        put: impl FnMut(u32, Vec3),
    ) {
        // Loops and no iterator adapters, whose `fold` would be compiled apart, without the wide instructions.
        let wide = |p: DVec3| lanes.of(p.extend(0.0).to_array());
        match carriers {
            Carriers::Points(points) => {
                let mut at = Vec::with_capacity(points.len());
                for p in *points {
                    at.push(wide(p.as_dvec3()));
                }
                self.sums(lanes, runs, weights, |c| at[c as usize], |at, _| *at, put);
            }
            Carriers::Frames(motions, rest) => {
                let mut columns = Vec::with_capacity(motions.len());
                for RigidMotion { turn, shift } in *motions {
                    columns.push([turn.x_axis, turn.y_axis, turn.z_axis, *shift].map(wide));
                }
                let carried = |[a, b, c, shift]: &[L::Four; 4], v: u32| {
                    let [x, y, z] = rest[v as usize].to_array().map(|x| lanes.all(f64::from(x)));
                    *a * x + *b * y + *c * z + *shift
                };
                self.sums(lanes, runs, weights, |c| columns[c as usize], carried, put);
            }
        }
    }

    /// Calls `put` with each vertex of some runs, and the weighted sum of what `carried` says of its controls.
    #[inline(always)]
    fn sums<L: FourLanes, C>(
        &self,
        lanes: L,
        runs: impl Iterator<Item = u32>,
        weights: &VertexWeights,
        carrier: impl Fn(u32) -> C,
        carried: impl Fn(&C, u32) -> L::Four,
        mut put: impl FnMut(u32, Vec3),
    ) {
        for n in runs {
            let run = self.vertices(n);
            let mut put = |v, sum: L::Four| {
                let [x, y, z, _] = sum.numbers();
                put(v, DVec3::new(x, y, z).as_vec3());
            };
            match *self.controls(n) {
                [a] => sums_of(lanes, run, weights, [carrier(a)], &carried, put),
                [a, b, c, d] => {
                    let carriers = [carrier(a), carrier(b), carrier(c), carrier(d)];
                    sums_of(lanes, run, weights, carriers, &carried, put);
                }
                [a, b, c, d, e, f, g, h] => {
                    let [a, b, c, d] = [carrier(a), carrier(b), carrier(c), carrier(d)];
                    let carriers = [a, b, c, d, carrier(e), carrier(f), carrier(g), carrier(h)];
                    sums_of(lanes, run, weights, carriers, &carried, put);
                }
                ref controls => {
                    for v in run {
                        let mut sum = lanes.all(0.0);
                        for (c, w) in controls.iter().zip(weights.row(v as usize).1) {
                            sum = sum + lanes.all(*w) * carried(&carrier(*c), v);
                        }
                        put(v, sum);
                    }
                }
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let ControlRuns { starts, controls, ends, runs } = self;
        size_of::<RunStart>() * starts.capacity()
            + size_of::<u32>() * (controls.capacity() + ends.capacity() + runs.capacity())
    }
}

/// As [`ControlRuns::carry_by`], with four lanes to an instruction instead of two.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn carry_wide(
    lanes: Wide,
    of: &ControlRuns,
    runs: impl Iterator<Item = u32>,
    weights: &VertexWeights,
    carriers: &Carriers,
    put: impl FnMut(u32, Vec3),
) {
    of.carry_by(lanes, runs, weights, carriers, put);
}

/// As [`ControlRuns::sums`], of a run whose vertices have `N` controls: the sum is in a register, in a loop of unknown
/// length it would be in memory.
#[inline(always)]
fn sums_of<L: FourLanes, C, const N: usize>(
    lanes: L,
    run: Range<u32>,
    weights: &VertexWeights,
    carriers: [C; N],
    carried: impl Fn(&C, u32) -> L::Four,
    mut put: impl FnMut(u32, L::Four),
) {
    for (v, weights) in run.clone().zip(weights.of_all(run).as_chunks::<N>().0) {
        let mut sum = lanes.all(0.0);
        for k in 0..N {
            sum = sum + lanes.all(weights[k]) * carried(&carriers[k], v);
        }
        put(v, sum);
    }
}
