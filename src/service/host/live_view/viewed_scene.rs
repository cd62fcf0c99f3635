//! The part of a scene that a live view has, and the pieces that it lacks of the current scene.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    ops::Range,
    sync::Arc,
};

use super::seen_surface::{MovedVertices, SeenSurface, SurfaceChange};
use crate::scene::{Scene, Tissue, TissueId, Tool, ToolId, tissue::feel::Feel};

/// Maximum vertices or triangles of one piece: 256 KiB at most, well below the message limit.
const PIECE: usize = 16_384;

/// The part of a scene that a viewer has.
pub struct ViewedScene {
    /// Viewed scene.
    pub scene: Arc<Scene>,
    tissues: BTreeMap<TissueId, ViewedTissue>,
    tools: BTreeSet<ToolId>,
}

/// The part of a tissue that a viewer has.
#[derive(Default)]
struct ViewedTissue {
    surface: SeenSurface,
    /// Geometry and topology revisions that the viewer has; `None` if it has nothing yet.
    revisions: Option<(u64, u64)>,
    /// Materials that the viewer has.
    feel: Option<Arc<Feel>>,
}

/// A piece that a viewer lacks.
pub enum ViewPiece {
    /// Piece of a tissue.
    Tissue {
        /// Tissue of the piece.
        tissue: Arc<Tissue>,
        /// Geometry revision, reached with all pieces of the frame.
        geometry_revision: u64,
        /// Topology revision, reached with all pieces of the frame.
        topology_revision: u64,
        /// Time since that revision was published, nanoseconds.
        age_ns: u64,
        /// Piece of the tissue's surface.
        piece: SurfacePiece,
    },
    /// Piece of a link.
    Link {
        /// Tool of the link.
        tool: Arc<Tool>,
        /// Index of the link in the tool, from 0.
        link: usize,
        /// Piece of the link's surface.
        piece: SurfacePiece,
    },
}

/// A piece of a surface: indices into its arrays, which are read when the piece is sent.
pub struct SurfacePiece {
    /// True for the first piece of a surface that the viewer does not have.
    pub is_new: bool,
    /// Content of the piece.
    pub part: SurfacePart,
}

/// Content of a piece of a surface.
pub enum SurfacePart {
    /// Positions of a range of vertices.
    Vertices(Range<usize>),
    /// Positions of these vertices, by index.
    Moved(Vec<u32>),
    /// Corners of a range of triangles.
    Triangles(Range<usize>),
    /// Removed triangles.
    Removed(Vec<u32>),
    /// Stiffness of the materials at a range of vertices, N/m; 0: rigid.
    Stiffness(usize, Vec<f32>),
}

impl ViewedScene {
    /// Creates the view of a viewer that has nothing of the scene yet.
    pub fn of(scene: Arc<Scene>) -> ViewedScene {
        let (tissues, tools) = Default::default();
        ViewedScene { scene, tissues, tools }
    }

    /// Memory of the copies, bytes, once the viewer has all of the current scene.
    pub fn bytes_expected(&self) -> u64 {
        let bytes = |tissue: &Arc<Tissue>| {
            let now = tissue.current();
            let mesh = now.surface.mesh();
            // A position, and the corners of a triangle, take 12 bytes each; both lists may have grown by doubling.
            2 * 12 * (mesh.positions().len() as u64 + u64::from(mesh.triangle_id_end()))
        };
        self.scene.tissues().iter().map(bytes).sum()
    }

    /// Returns surfaces that are new or have changed by `now_ns`, in pieces. The viewer is then assumed to have them.
    pub fn take_tissues(&mut self, now_ns: u64) -> Vec<ViewPiece> {
        let tissues = self.scene.tissues();
        self.tissues.retain(|id, _| tissues.iter().any(|t| t.id() == *id));
        let viewed = &mut self.tissues;
        let pieces = tissues
            .iter()
            .flat_map(|tissue| viewed.entry(tissue.id()).or_default().take(tissue, now_ns));
        pieces.collect()
    }

    /// Returns the pieces of new tools.
    pub fn take_tools(&mut self) -> Vec<ViewPiece> {
        let tools = self.scene.tools();
        self.tools.retain(|id| tools.iter().any(|t| t.id == *id));
        let mut pieces = Vec::new();
        for tool in tools.iter().filter(|tool| self.tools.insert(tool.id)) {
            for (link, of) in tool.links.iter().enumerate() {
                let mesh = of.surface.mesh();
                let all = whole(mesh.positions().len(), mesh.triangle_id_end() as usize);
                let piece = |piece| ViewPiece::Link { tool: Arc::clone(tool), link, piece };
                pieces.extend(numbered(true, all).map(piece));
            }
        }
        pieces
    }

    /// Returns a tissue as the viewer has it after all pieces; `None` if the tissue is gone.
    pub fn tissue(&self, id: TissueId) -> Option<&SeenSurface> {
        self.tissues.get(&id).map(|viewed| &viewed.surface)
    }
}

impl ViewedTissue {
    fn take(&mut self, tissue: &Arc<Tissue>, now_ns: u64) -> Vec<ViewPiece> {
        // Released at the end of this function: the writer needs it back as its spare.
        let now = tissue.current();
        let revisions = (now.geometry_revision, now.topology_revision);
        let before = self.revisions.replace(revisions);
        if before == Some(revisions) {
            return Vec::new();
        }
        let is_cut = before.is_none_or(|(_, topology)| topology != revisions.1);
        let mesh = now.surface.mesh();
        let change = self.surface.take(mesh, is_cut);
        let piece = |piece| ViewPiece::Tissue {
            tissue: Arc::clone(tissue),
            geometry_revision: revisions.0,
            topology_revision: revisions.1,
            age_ns: now_ns.saturating_sub(now.published_ns),
            piece,
        };
        let is_same = match (&self.feel, &now.feel) {
            (Some(seen), Some(feel)) => Arc::ptr_eq(seen, feel) && !is_cut,
            (seen, feel) => seen.is_none() && feel.is_none(),
        };
        self.feel.clone_from(&now.feel);
        let n_felt = if is_same { 0 } else { mesh.positions().len() };
        let felt = pieces(0..n_felt).map(|range| {
            let stiffness = range.clone().map(|v| now.stiffness_at(v as u32) as f32).collect();
            SurfacePart::Stiffness(range.start, stiffness)
        });
        let mut parts = changed(change, mesh.positions().len()).chain(felt).peekable();
        // Vertices moved there and back since the last frame: the revision is sent nevertheless.
        let same = parts.peek().is_none().then(|| SurfacePart::Moved(Vec::new()));
        numbered(before.is_none(), same.into_iter().chain(parts)).map(piece).collect()
    }
}

fn numbered(
    is_new: bool,
    parts: impl Iterator<Item = SurfacePart>,
) -> impl Iterator<Item = SurfacePiece> {
    parts.enumerate().map(move |(n, part)| SurfacePiece { is_new: is_new && n == 0, part })
}

fn whole(n_vertices: usize, n_triangles: usize) -> impl Iterator<Item = SurfacePart> {
    let vertices = pieces(0..n_vertices).map(SurfacePart::Vertices);
    vertices.chain(pieces(0..n_triangles).map(SurfacePart::Triangles))
}

/// Puts vertices before the triangles that name them.
fn changed(change: SurfaceChange, n_vertices: usize) -> impl Iterator<Item = SurfacePart> {
    let (all, some) = match change.moved {
        MovedVertices::All => (0..n_vertices, Vec::new()),
        MovedVertices::Some(moved) => (0..0, moved),
    };
    let all = pieces(all).map(SurfacePart::Vertices);
    let some = split(some).map(SurfacePart::Moved);
    let removed = split(change.removed).map(SurfacePart::Removed);
    all.chain(some).chain(removed).chain(pieces(change.added).map(SurfacePart::Triangles))
}

fn pieces(of: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = of.end;
    of.step_by(PIECE).map(move |first| first..end.min(first + PIECE))
}

fn split(mut numbers: Vec<u32>) -> impl Iterator<Item = Vec<u32>> {
    iter::from_fn(move || {
        let rest = numbers.split_off(numbers.len().min(PIECE));
        let piece = std::mem::replace(&mut numbers, rest);
        (!piece.is_empty()).then_some(piece)
    })
}
