//! A viewer of the live view: it maintains arrays by the contract, independent of how the server makes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use palpate::proto::{
    ExportTissueResponse, WatchRequest, WatchResponse, WatchedSurface, export_tissue_response,
    watch_service_client::WatchServiceClient,
};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::{keys::by, messages::SCENE, server::TestServer};

/// Much longer than a frame.
const SOON: Duration = Duration::from_secs(20);

/// State that a viewer has drawn.
pub struct Viewer {
    frames: Streaming<WatchResponse>,
    pub tissues: BTreeMap<u32, Drawn>,
    /// Links by tool and link number.
    pub links: BTreeMap<(u32, u32), Drawn>,
    /// Frames so far, and bytes of their messages.
    pub n_frames: u64,
    pub n_bytes: usize,
}

/// A surface's arrays.
#[derive(Debug, Default)]
pub struct Drawn {
    pub positions: Vec<[f32; 3]>,
    pub corners: Vec<[u32; 3]>,
    pub geometry_revision: u64,
    pub topology_revision: u64,
    /// Number of positions in the last frame that had any.
    pub n_moved: usize,
}

pub fn all_of(scene_id: &str) -> WatchRequest {
    WatchRequest { scene_id: scene_id.to_owned(), rate_hz: 60.0, parts: Vec::new() }
}

impl Viewer {
    pub async fn of(server: &TestServer) -> Viewer {
        Viewer::open(server, "", all_of(SCENE)).await.expect("a stream")
    }

    pub async fn open(
        server: &TestServer,
        secret: &str,
        request: WatchRequest,
    ) -> Result<Viewer, Status> {
        let mut client = WatchServiceClient::new(server.channel.clone());
        let frames = client.watch(by(secret, request)).await?.into_inner();
        let (tissues, links) = Default::default();
        Ok(Viewer { frames, tissues, links, n_frames: 0, n_bytes: 0 })
    }

    /// Reads the next frame; returns its last message.
    pub async fn frame(&mut self) -> Result<WatchResponse, Status> {
        loop {
            let message = timeout(SOON, self.frames.message()).await.expect("a frame soon");
            let message = message?.expect("it does not end by itself");
            self.n_bytes += prost::Message::encoded_len(&message);
            for tissue in &message.tissues {
                let drawn = self.tissues.entry(tissue.tissue_id).or_default();
                drawn.geometry_revision = tissue.geometry_revision;
                drawn.topology_revision = tissue.topology_revision;
                drawn.take(tissue.surface.as_ref().expect("a surface"));
            }
            for tool in &message.tools {
                let drawn = self.links.entry((tool.tool_id, tool.link)).or_default();
                drawn.take(tool.surface.as_ref().expect("a surface"));
            }
            if message.more {
                continue;
            }
            assert_eq!(message.frame, self.n_frames + 1, "frames are counted");
            self.n_frames = message.frame;
            let there: BTreeSet<u32> = message.tissue_ids.iter().copied().collect();
            self.tissues.retain(|id, _| there.contains(id));
            return Ok(message);
        }
    }

    /// Reads frames until one is as wanted.
    pub async fn until(
        &mut self,
        is_wanted: impl Fn(&Viewer, &WatchResponse) -> bool,
    ) -> WatchResponse {
        timeout(SOON, async {
            loop {
                let frame = self.frame().await.expect("a frame");
                if is_wanted(self, &frame) {
                    return frame;
                }
            }
        })
        .await
        .expect("it comes to that")
    }

    /// Panics unless tissue 1 is drawn as it is exported.
    pub fn assert_drawn_as(&self, exported: &[ExportTissueResponse]) {
        use export_tissue_response::Message;
        let drawn = &self.tissues[&1];
        let (mut positions, mut ids, mut corners) = (Vec::new(), Vec::new(), Vec::new());
        for message in exported {
            match message.message.as_ref().expect("one or the other") {
                Message::Header(header) => {
                    assert_eq!(drawn.geometry_revision, header.geometry_revision);
                    assert_eq!(drawn.topology_revision, header.topology_revision);
                }
                Message::Chunk(chunk) => {
                    positions.extend_from_slice(chunk.positions_m.as_chunks().0);
                    ids.extend_from_slice(&chunk.triangle_ids);
                    corners.extend_from_slice(chunk.triangles.as_chunks::<3>().0);
                }
            }
        }
        assert_eq!(drawn.positions, positions);
        let there = |c: &[u32; 3]| c[0] != c[1] || c[1] != c[2];
        let live = (0..).zip(&drawn.corners).filter(|(_, c)| there(c));
        let (drawn_ids, drawn_corners): (Vec<u32>, Vec<[u32; 3]>) = live.unzip();
        assert_eq!((drawn_ids, drawn_corners), (ids, corners));
    }
}

impl Drawn {
    fn take(&mut self, surface: &WatchedSurface) {
        if surface.is_new {
            (self.positions, self.corners) = Default::default();
        }
        self.positions.resize(surface.vertices as usize, [f32::NAN; 3]);
        self.corners.resize(surface.triangle_ids as usize, [u32::MAX; 3]);
        let (positions, rest) = surface.positions_m.as_chunks::<3>();
        assert!(rest.is_empty(), "whole positions");
        if !positions.is_empty() {
            self.n_moved = positions.len();
        }
        if surface.moved_vertices.is_empty() {
            let first = surface.first_vertex as usize;
            self.positions[first..first + positions.len()].copy_from_slice(positions);
        } else {
            assert_eq!(surface.moved_vertices.len(), positions.len());
            for (v, to) in surface.moved_vertices.iter().zip(positions) {
                self.positions[*v as usize] = *to;
            }
        }
        let first = surface.first_triangle as usize;
        let (corners, _) = surface.corners.as_chunks::<3>();
        self.corners[first..first + corners.len()].copy_from_slice(corners);
        for t in &surface.removed_triangles {
            self.corners[*t as usize] = [0; 3];
        }
    }
}
