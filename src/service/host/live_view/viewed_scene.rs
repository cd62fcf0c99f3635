//! What a live view has of a scene, and the pieces that it lacks of the scene as it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    ops::Range,
    sync::Arc,
};

use super::seen_surface::{MovedVertices, SeenSurface, SurfaceChange};
use crate::scene::{Scene, Tissue, TissueId, Tool, ToolId};

/// Vertices or triangles of one piece: 256 KiB at most, well below a message's limit.
const PIECE: usize = 16_384;

/// What a viewer has of a scene.
pub struct ViewedScene {
    /// Which.
    pub scene: Arc<Scene>,
    tissues: BTreeMap<TissueId, ViewedTissue>,
    tools: BTreeSet<ToolId>,
}

/// What a viewer has of a tissue.
#[derive(Default)]
struct ViewedTissue {
    surface: SeenSurface,
    /// Deformations and cuts that it has; `None`: it has nothing yet.
    revisions: Option<(u64, u64)>,
}

/// Something that a viewer lacks.
pub enum ViewPiece {
    /// Of a tissue.
    Tissue {
        /// Which.
        tissue: Arc<Tissue>,
        /// Deformations, with all pieces of the frame.
        geometry_revision: u64,
        /// Cuts, the same.
        topology_revision: u64,
        /// Since that revision was published.
        age_ns: u64,
        /// What.
        piece: SurfacePiece,
    },
    /// Of a link.
    Link {
        /// Whose.
        tool: Arc<Tool>,
        /// Counted from 0 in the tool.
        link: usize,
        /// What.
        piece: SurfacePiece,
    },
}

/// A piece of a surface: numbers into its arrays, which are read when the piece is sent.
pub struct SurfacePiece {
    /// The first of a surface that the viewer does not have.
    pub is_new: bool,
    /// What it holds.
    pub part: SurfacePart,
}

/// What a piece of a surface holds.
pub enum SurfacePart {
    /// Positions of these vertices.
    Vertices(Range<usize>),
    /// Positions of these vertices, by number.
    Moved(Vec<u32>),
    /// Corners of these triangles.
    Triangles(Range<usize>),
    /// Triangles that are gone.
    Removed(Vec<u32>),
}

impl ViewedScene {
    /// The viewer has nothing of it yet.
    pub fn of(scene: Arc<Scene>) -> ViewedScene {
        let (tissues, tools) = Default::default();
        ViewedScene { scene, tissues, tools }
    }

    /// What its copies take of memory, bytes, once it has all that the scene has now.
    pub fn bytes_expected(&self) -> u64 {
        let bytes = |tissue: &Arc<Tissue>| {
            let now = tissue.current();
            let mesh = now.surface.mesh();
            // A position, and the corners of a triangle; both lists may have grown by doubling.
            2 * 12 * (mesh.positions().len() as u64 + u64::from(mesh.triangle_id_end()))
        };
        self.scene.tissues().iter().map(bytes).sum()
    }

    /// Surfaces that are new or have changed by `now_ns`, in pieces. From then on the viewer is taken to have them.
    pub fn take_tissues(&mut self, now_ns: u64) -> Vec<ViewPiece> {
        let tissues = self.scene.tissues();
        self.tissues.retain(|id, _| tissues.iter().any(|t| t.id() == *id));
        let viewed = &mut self.tissues;
        let pieces = tissues
            .iter()
            .flat_map(|tissue| viewed.entry(tissue.id()).or_default().take(tissue, now_ns));
        pieces.collect()
    }

    /// Tools that are new.
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

    /// A tissue as the viewer has it once all pieces have come; `None` when it is gone.
    pub fn tissue(&self, id: TissueId) -> Option<&SeenSurface> {
        self.tissues.get(&id).map(|viewed| &viewed.surface)
    }
}

impl ViewedTissue {
    fn take(&mut self, tissue: &Arc<Tissue>, now_ns: u64) -> Vec<ViewPiece> {
        // Let go at the end of this function: the writer wants it back as its spare.
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
        let mut parts = changed(change, mesh.positions().len()).peekable();
        // It moved there and back since the last frame: its revision is told all the same.
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

/// Vertices before the triangles that name them.
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
