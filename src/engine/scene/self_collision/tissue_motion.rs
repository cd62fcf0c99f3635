//! Motion of a tissue from one revision to another, as a client requested it.

use std::{fmt, sync::Arc};

use glam::Vec3;

use crate::{
    bvh::DeformingTree,
    ccd::{MovingTriangle, Owned, Owners},
    geometry::{
        Dop16, TriangleId, TriangleMesh,
        mesh::seam_search::{follow_seams, joined_of_each, keep_joined_as},
    },
    scene::{HeldPositions, Revision, Tissue, TissueId},
};

/// Revisions between which a tissue moves, as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The tissue.
    pub tissue: TissueId,
    /// Geometry revision at time 0; `None`: as at time 1, so that the tissue stands still.
    pub from: Option<u64>,
    /// Geometry revision at time 1; `None`: the newest.
    pub to: Option<u64>,
}

/// Revisions between which a tissue was taken to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TissueMotion {
    /// The tissue.
    pub tissue: TissueId,
    /// Geometry revision at time 0.
    pub from: u64,
    /// Geometry revision at time 1.
    pub to: u64,
    /// Topology revision of both ends.
    pub topology_revision: u64,
}

/// One end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalEnd {
    /// Time 0.
    From,
    /// Time 1.
    To,
}

/// Errors of an interval between two revisions.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// The revision is neither held nor the newest.
    #[error(
        "geometry revision {got} is not held, expected {}", HeldChoice { held, current: *current }
    )]
    NotHeld {
        /// End of the interval.
        end: IntervalEnd,
        /// Requested revision.
        got: u64,
        /// Held revisions.
        held: Vec<u64>,
        /// Newest revision.
        current: u64,
    },
    /// The tissue was cut after that revision, which has other vertices and triangles.
    #[error(
        "geometry revision {revision} has topology revision {got}, expected {current}: the tissue was cut since"
    )]
    Cut {
        /// End of the interval.
        end: IntervalEnd,
        /// Requested geometry revision.
        revision: u64,
        /// Its topology revision.
        got: u64,
        /// Topology revision of the tissue.
        current: u64,
    },
    /// The end is before the start.
    #[error("from geometry revision {from} to {to}, expected one that is not before it")]
    Backwards {
        /// Revision at time 0.
        from: u64,
        /// Revision at time 1.
        to: u64,
    },
}

/// The revisions that could be requested, for a message.
struct HeldChoice<'a> {
    held: &'a [u64],
    current: u64,
}

impl fmt::Display for HeldChoice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.held {
            [] => write!(f, "the newest, {}: none is held", self.current),
            held => write!(f, "one of {held:?} or the newest, {}", self.current),
        }
    }
}

/// A tissue's vertices at both ends of its interval: a copy that keeps no revision from its writer.
pub(super) struct TissueEnds {
    pub motion: TissueMotion,
    /// Mesh at time 1.
    mesh: TriangleMesh,
    /// Positions at time 0: `[n_vertices]`.
    start: Arc<[Vec3]>,
}

/// A moving tissue with the owners of its features and the tree of the boxes that its triangles sweep.
pub(super) struct SweptTissue {
    ends: TissueEnds,
    owners: Owners,
    /// Tree of the boxes that the triangles sweep.
    pub tree: DeformingTree,
}

impl TissueEnds {
    pub fn of(tissue: &Tissue, interval: &Interval) -> Result<TissueEnds, IntervalError> {
        let (current, held) = (tissue.current(), tissue.held());
        let to = interval.to.unwrap_or(current.geometry_revision);
        let from = interval.from.unwrap_or(to);
        let end = find(&current, &held, to, IntervalEnd::To)?;
        let start = find(&current, &held, from, IntervalEnd::From)?;
        if from > to {
            return Err(IntervalError::Backwards { from, to });
        }
        // The triangles are the newest revision's, because no interval reaches over a cut; only positions are put back.
        let mut mesh = current.surface.mesh().clone();
        let now = current.surface.mesh().positions();
        let mut put_at = |held: Option<&HeldPositions>| {
            mesh.move_all(held.map_or(now, |held| &held.positions).to_vec());
            follow_seams(&mut mesh);
            joined_of_each(&mesh)
        };
        // Vertices joined at one end only part or meet on the way.
        let at_start = put_at(start);
        put_at(end);
        keep_joined_as(&mut mesh, &at_start);
        let start = match start {
            Some(held) => Arc::clone(&held.positions),
            None => current.surface.mesh().positions().into(),
        };
        debug_assert_eq!(start.len(), mesh.positions().len(), "both ends have the same vertices");
        let topology_revision = current.topology_revision;
        let motion = TissueMotion { tissue: tissue.id(), from, to, topology_revision };
        Ok(TissueEnds { motion, mesh, start })
    }

    fn moving(&self, t: TriangleId, owned: Owned) -> MovingTriangle {
        let t0 = self.mesh.vertices(t).map(|v| self.start[v as usize].as_dvec3());
        MovingTriangle { t0, t1: self.mesh.triangle(t), owned }
    }
}

impl SweptTissue {
    /// The tree's boxes hold everything within `margin` metres of the swept triangles. `None` if `is_over` returned
    /// true.
    pub fn new(ends: TissueEnds, margin: f64, is_over: &dyn Fn() -> bool) -> Option<SweptTissue> {
        // Vertices move straight, so a convex volume that holds both ends holds all positions in between.
        let swept = |t: TriangleId| {
            let MovingTriangle { t0, t1, .. } = ends.moving(t, Owned::NONE);
            (t, Dop16::around(t0.into_iter().chain(t1)).grown(margin))
        };
        let tree = DeformingTree::build(ends.mesh.triangle_ids().map(swept));
        if is_over() {
            return None;
        }
        let owners = Owners::new(&ends.mesh);
        (!is_over()).then_some(SweptTissue { owners, tree, ends })
    }

    pub fn motion(&self) -> TissueMotion {
        self.ends.motion
    }

    pub fn vertices(&self, t: TriangleId) -> [u32; 3] {
        self.ends.mesh.vertices(t)
    }

    /// Returns the vertices of a triangle, with one vertex for all that seams join at both ends.
    pub fn joined_vertices(&self, t: TriangleId) -> [u32; 3] {
        self.ends.mesh.joined_vertices(t)
    }

    pub fn moving(&self, t: TriangleId) -> MovingTriangle {
        self.ends.moving(t, self.owners.get(t))
    }
}

/// Finds the vertex positions at a revision; `None`: the present ones.
fn find<'a>(
    current: &Revision,
    held: &'a [HeldPositions],
    revision: u64,
    end: IntervalEnd,
) -> Result<Option<&'a HeldPositions>, IntervalError> {
    // The newest revision need not be held: ticks keep it as it is.
    if revision == current.geometry_revision {
        return Ok(None);
    }
    let topology = current.topology_revision;
    match held.iter().find(|h| h.geometry_revision == revision) {
        Some(found) if found.topology_revision == topology => Ok(Some(found)),
        Some(found) => {
            let got = found.topology_revision;
            Err(IntervalError::Cut { end, revision, got, current: topology })
        }
        None => Err(IntervalError::NotHeld {
            end,
            got: revision,
            held: held.iter().map(|h| h.geometry_revision).collect(),
            current: current.geometry_revision,
        }),
    }
}
