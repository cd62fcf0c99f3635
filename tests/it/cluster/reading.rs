//! Time that a server needs for a scene that another has given up, printed.

use std::time::Instant;

use palpate::{
    client::{ServerAddress, mesh_source::MeshSource},
    oracle::shapes,
    proto::GetSceneRequest,
};

use super::theatre::Theatre;
use crate::{
    seed::scaled,
    support::{messages::SCENE, slab::slab_and_ball},
};

/// Triangles of a whole organ.
const N_TRIANGLES: u32 = 70_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_scene_is_read_by_who_is_asked() {
    let mut theatre = Theatre::open("reading", 1);
    let first = ServerAddress::new(&theatre.servers[0].address.to_string());
    let mut client = slab_and_ball(&first, SCENE).await;
    let organ = shapes::organ(N_TRIANGLES, 7);
    let n_triangles = organ.triangles.len();
    client.add_tissue(SCENE, "organ", &MeshSource::Raw(organ)).await.expect("an organ");
    let mut times = Vec::new();
    for _ in 0..scaled(5) {
        theatre.restart(0).await;
        let mut server = theatre.connect(0).await;
        let asked = Instant::now();
        let request = GetSceneRequest { scene_id: SCENE.to_owned() };
        let answer = server.scenes.get_scene(request).await.expect("nobody has it");
        times.push(asked.elapsed());
        assert_eq!(answer.into_inner().scene.expect("described").tissues.len(), 2);
    }
    times.sort();
    println!(
        "a scene of {n_triangles} triangles is read: n = {}, p50 {:?}, at most {:?}",
        times.len(),
        times[times.len() / 2],
        times[times.len() - 1]
    );
}
