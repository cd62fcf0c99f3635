//! The simulator's knife: a thread that splits one triangle of the tissue after the other.
//!
//! A cut splits a triangle into three about its centroid, so the surface stays closed and keeps its shape.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use glam::Vec3;

use super::{haptic::WorkerError, pacer::Pacer};
use crate::proto::EditTopologyRequest;
use crate::{
    client::{Client, address::ServerAddress},
    load::{report::latencies::Latencies, run::start::Starter},
};

/// Stride between two consecutively split triangles: a large prime, so that they lie apart.
const STRIDE: usize = 7_919;

/// Plan of the cutting client.
pub struct CutPlan {
    /// Address of the server.
    pub server: ServerAddress,
    /// Id of the scene.
    pub scene_id: String,
    /// Id of the tissue to cut.
    pub tissue_id: u32,
    /// Vertices at rest: `[n_vertices]`.
    pub rest: Vec<Vec3>,
    /// Triangles as uploaded: `[n_triangles]`.
    pub triangles: Vec<[u32; 3]>,
    /// Cuts a second.
    pub rate_hz: f64,
    /// Total number of cuts, at most the number of triangles.
    // More would cut triangles that are gone: an id is not used again.
    pub n_cuts: u64,
    /// Clients that share the machine.
    pub n_clients: u32,
    /// Ends the client early when set.
    pub stop: Arc<AtomicBool>,
}

/// Counts and times of the cuts.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// Cuts applied and published.
    pub done: u64,
    /// Time of a cut in the engine, as reported by the server.
    pub update: Latencies,
}

/// Runs the client to its end on the calling thread.
///
/// # Errors
/// Returns an error if the server refuses or goes away, or if there is no timer.
pub fn run(plan: &CutPlan, starter: Starter) -> Result<Cuts, WorkerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = Client::connect(&plan.server).await?;
        let mut cuts = Cuts::default();
        let Some(started) = starter.wait() else { return Ok(cuts) };
        let n_cuts = plan.n_cuts.min(plan.triangles.len() as u64);
        let mut pacer = Pacer::new(started, plan.rate_hz, n_cuts, plan.n_clients)?;
        while let Some(due) = pacer.due().await? {
            if plan.stop.load(Ordering::Relaxed) {
                break;
            }
            // Cuts are awaited one by one: the number of the vertex that a cut adds counts the cuts before it.
            let answer = client.edit_topology(plan.cut(due.index as usize)).await?;
            cuts.done += 1;
            cuts.update.record(Duration::from_secs_f64(1e-6 * answer.update_us.max(0.0)));
        }
        Ok(cuts)
    })
}

impl CutPlan {
    /// Returns the cut with this number; each earlier cut has added one vertex.
    fn cut(&self, number: usize) -> EditTopologyRequest {
        let n_triangles = self.triangles.len();
        // Each triangle is cut once: if the stride divides their number, cuts go one after the other.
        let stride = if n_triangles.is_multiple_of(STRIDE) { 1 } else { STRIDE };
        let t = number * stride % n_triangles;
        let [a, b, c] = self.triangles[t];
        // The centroid is taken at rest: on a deformed tissue the new vertex lies a little off the surface until the
        // next frame.
        let middle = [a, b, c].iter().map(|v| self.rest[*v as usize]).sum::<Vec3>() / 3.0;
        let m = (self.rest.len() + number) as u32;
        EditTopologyRequest {
            scene_id: self.scene_id.clone(),
            tissue_id: self.tissue_id,
            removed_triangles: vec![t as u32],
            added_positions_m: middle.to_array().to_vec(),
            // Each new triangle keeps one edge of the old one, in its direction: neighbours still agree in winding.
            added_triangles: vec![a, b, m, b, c, m, c, a, m],
            added_triangle_parents: vec![t as u32; 3],
            ..EditTopologyRequest::default()
        }
    }
}
