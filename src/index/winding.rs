//! The winding number around a point, far runs of the list seen by their moments.

use glam::DVec3;

use super::skip_list::{END, SkipList};
use crate::geometry::{
    TriangleMesh,
    winding::{Winding, solid_angle},
};

impl SkipList {
    /// The generalised winding number of the surface around `p`, with a bound on its error. About
    /// O(log n) for a point away from the surface.
    ///
    /// # Panics
    /// When the list was built without moments.
    pub fn winding(&self, mesh: &TriangleMesh, p: DVec3) -> Winding {
        assert!(!self.moments.is_empty(), "the list was built without moments");
        let mut sum = Winding::default();
        for band in &self.bands {
            match band.moments.far_winding(&band.bounds, p) {
                Some(w) => add(&mut sum, w),
                None => self.winding_run(mesh, p, band.head, END, band.top, &mut sum),
            }
        }
        sum
    }

    fn winding_run(
        &self,
        mesh: &TriangleMesh,
        p: DVec3,
        start: u32,
        end: u32,
        level: usize,
        sum: &mut Winding,
    ) {
        let mut n = start;
        while n != end {
            let link = self.link(n, level);
            let moments = &self.moments[self.nodes[n as usize].tower as usize + level];
            match moments.far_winding(&link.bounds, p) {
                Some(w) => add(sum, w),
                None if level > 0 => self.winding_run(mesh, p, n, link.next, level - 1, sum),
                None => {
                    let block = &self.blocks[n as usize];
                    let angle = |t| solid_angle(p, &mesh.triangle(t));
                    let angles: f64 =
                        block.triangles[..block.len()].iter().copied().map(angle).sum();
                    sum.number += angles / (4.0 * std::f64::consts::PI);
                }
            }
            n = link.next;
        }
    }
}

fn add(sum: &mut Winding, w: Winding) {
    sum.number += w.number;
    sum.error += w.error;
}
