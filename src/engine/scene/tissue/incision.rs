//! An incision: a cut along a line on a surface, made from the points of the line.
//!
//! The line is drawn on the surface from point to point, by planes that contain two of them and the surface's normal.
//! It splits the triangles that it crosses, so that it runs along edges; then the vertices along it are doubled, the two
//! lips move apart by the width, and the surface beside them gives way. The line's two ends stay single, and hold the
//! lips together; an end on the border of an open surface is doubled too. With a depth, two walls go down from the lips
//! to a floor: a closed surface stays closed.

mod incision_error;
mod line;
mod lips;
mod walls;

use glam::DVec3;

use super::edit::TopologyEdit;
use crate::surface::Surface;
pub use incision_error::{
    DEEP_VERTICES_MAX, INCISION_MAX_M, IncisionError, LINE_VERTICES_MAX, PATH_POINTS_MAX,
};
use line::CutLine;

/// Line and size of an incision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incision {
    /// Points of the line, metres, scene frame, at most 10 mm from the surface
    /// ([`INCISION_REACH_M`](crate::geometry::tolerance::INCISION_REACH_M)). The first point again at the end closes the
    /// line.
    pub path: Vec<DVec3>,
    /// Greatest width of the gap, metres; 0: the lips touch each other.
    pub width_m: f64,
    /// Depth of the gap, metres; 0: the surface alone is cut.
    pub depth_m: f64,
}

/// An incision as a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Incised {
    /// The cut.
    pub edit: TopologyEdit,
    /// Vertices along the left lip, seen from outside in the direction of the line. At an end that is not doubled, both
    /// lips have its one vertex.
    pub left: Vec<u32>,
    /// Vertices opposite, along the right lip.
    pub right: Vec<u32>,
    /// Vertices of the floor between them; none without a depth.
    pub floor: Vec<u32>,
    /// Vertices beside the line, where the surface gives way to the lips, each with the added one that takes its place.
    pub moved: Vec<[u32; 2]>,
    /// Greatest width, metres: less than asked for if the line is short, or where a triangle at a lip would have been turned over.
    pub width_m: f64,
}

impl Incision {
    /// Computes the cut of a surface. O(points log triangles + crossed triangles).
    ///
    /// # Errors
    /// Returns an error if the line cannot be drawn, or the depth not be reached.
    pub fn on(&self, surface: &Surface) -> Result<Incised, IncisionError> {
        if !(2..=PATH_POINTS_MAX).contains(&self.path.len()) {
            return Err(IncisionError::Points { got: self.path.len() });
        }
        for (what, got) in [("width_m", self.width_m), ("depth_m", self.depth_m)] {
            if !(0.0..=INCISION_MAX_M).contains(&got) {
                return Err(IncisionError::Size { what, got });
            }
        }
        if self.depth_m > 0.0 && !surface.is_closed() {
            return Err(IncisionError::NotClosed);
        }
        let max = if self.depth_m > 0.0 { DEEP_VERTICES_MAX } else { LINE_VERTICES_MAX };
        let mut line = CutLine::drawn(surface, &self.path, max)?;
        let lips = line.opened(self.width_m)?;
        let mut edit =
            TopologyEdit { removed: line.patch.split().to_vec(), ..TopologyEdit::default() };
        (edit.added, edit.parents) = line.patch.pieces().unzip();
        let mut floor = Vec::new();
        if self.depth_m > 0.0 {
            floor = line.deepened(&lips, self.depth_m, surface, &mut edit)?;
        }
        edit.added_positions = line.patch.added_positions().map(|p| p.as_vec3()).collect();
        let lips::Lips { left, right, moved, width_m, .. } = lips;
        Ok(Incised { edit, left, right, floor, moved, width_m })
    }
}
