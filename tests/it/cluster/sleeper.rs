//! A server that is stopped for longer than its leases: calls sent to it before, and its answers when it resumes.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::proto::{DeformRequest, EditTopologyRequest, ListScenesRequest, RemoveTissueRequest};
use tokio::task::JoinHandle;
use tokio_stream::{StreamExt, iter};
use tonic::{Code, Status};

use super::{
    editors::{Acknowledged, FENCED_M, mark, scene_id},
    theatre::{Scenes, owner},
};
use crate::support::{
    meshes::octahedron,
    messages::{sparse, tissue_head, tissue_header, tissue_piece},
};

/// Smallest mark of held cuts.
const FIRST_MARK: u64 = 40_000;
/// Held cuts of each scene, and the time between two: some are done before the server stops, some are in progress then,
/// and some are still to be read.
const N_HELD: usize = 12;
const APART: Duration = Duration::from_millis(2);

/// Cuts of scenes, sent to one server, whose answers are awaited however late they are.
pub struct HeldCuts {
    calls: Vec<JoinHandle<Option<Acknowledged>>>,
}

impl HeldCuts {
    /// Begins to send the cuts.
    pub fn send(to: &Scenes, by: SocketAddr, scenes: &[usize]) -> HeldCuts {
        let calls = scenes.iter().flat_map(|scene| (0..N_HELD).map(move |n| (*scene, n)));
        let held = calls.map(|(scene, n)| tokio::spawn(held(to.clone(), by, scene, n)));
        HeldCuts { calls: held.collect() }
    }

    /// Returns all acknowledged cuts, and prints how many were acknowledged after `after`.
    pub async fn acknowledged(self, after: Instant) -> Vec<Acknowledged> {
        let n_calls = self.calls.len();
        let mut made = Vec::new();
        for call in self.calls {
            made.extend(call.await.expect("no panic"));
        }
        let late = made.iter().filter(|cut| cut.at > after).count();
        println!("held: {n_calls} cuts, {} acknowledged, {late} of them on waking", made.len());
        made
    }
}

async fn held(mut to: Scenes, by: SocketAddr, scene: usize, n: usize) -> Option<Acknowledged> {
    tokio::time::sleep(APART * n as u32).await;
    let own = FIRST_MARK + n as u64;
    match to.edit_topology(cut(scene, mark(own))).await {
        Ok(done) => {
            let revision = done.into_inner().topology_revision;
            Some(Acknowledged { scene, revision, mark: own, by, at: Instant::now() })
        }
        Err(status) => {
            let codes = [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled];
            assert!(owner(&status).is_some() || codes.contains(&status.code()), "{status:?}");
            None
        }
    }
}

/// A cut that fits the scene after any other cuts.
pub fn cut(scene: usize, x_m: f32) -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: scene_id(scene),
        tissue_id: 1,
        added_positions_m: vec![x_m, 0.5, 0.5],
        added_triangles: vec![0, 2, 4],
        ..Default::default()
    }
}

/// A call that changes a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Cut,
    Upload,
    Removal,
    Deformation,
}

const CHANGES: [Change; 4] = [Change::Cut, Change::Upload, Change::Removal, Change::Deformation];

async fn ask(to: &mut Scenes, scene: usize, change: Change) -> Result<(), Status> {
    match change {
        Change::Cut => to.edit_topology(cut(scene, FENCED_M)).await.map(drop),
        Change::Upload => {
            let mesh = octahedron(0.1);
            let mut header = tissue_header("late", &mesh);
            header.scene_id = scene_id(scene);
            let upload = iter([tissue_head(header), tissue_piece(mesh.chunk())]);
            to.add_tissue(upload).await.map(drop)
        }
        Change::Removal => {
            let removal = RemoveTissueRequest { scene_id: scene_id(scene), tissue_id: 1 };
            to.remove_tissue(removal).await.map(drop)
        }
        Change::Deformation => {
            let scene_id = scene_id(scene);
            let moved = DeformRequest { scene_id, ..sparse(1, &[0], &[0.2, 0.0, 0.0]) };
            let mut answers = to.deform(iter([moved])).await?.into_inner();
            answers.next().await.expect("an answer, or a refusal").map(drop)
        }
    }
}

/// Checks that a server that slept past its lease refuses every change to its former scenes; no other server is asked.
pub async fn fenced(mut sleeper: Scenes, scene: usize, own: SocketAddr) {
    let mut named = BTreeMap::new();
    for _ in 0..1_000 {
        match sleeper.list_scenes(ListScenesRequest {}).await {
            Ok(list) => {
                let listed = list.into_inner().scenes;
                assert!(listed.iter().all(|listed| listed.scene_id != scene_id(scene)), "{scene}");
            }
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
        for change in CHANGES {
            match ask(&mut sleeper, scene, change).await {
                Ok(()) => {
                    panic!("scene {scene}: a server that had lost it acknowledged a {change:?}")
                }
                Err(status) => match owner(&status) {
                    Some((address, epoch)) => {
                        assert!(address != own && epoch > 1, "{address} {epoch}");
                        named.insert(change, address);
                    }
                    None => assert_eq!(status.code(), Code::Unavailable, "{change:?}: {status:?}"),
                },
            }
        }
        if named.len() == CHANGES.len() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("scene {scene}: its owner is named to {named:?} only");
}
