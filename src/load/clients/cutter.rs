//! The simulator's knife: a thread that splits one triangle of the tissue after the other.
//!
//! A triangle becomes three about its middle, so the surface stays closed and where it was.

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

/// Triangles between two that are split one after the other: a large prime, so that they lie apart.
const STRIDE: usize = 7_919;

/// What the cutting client does.
pub struct CutPlan {
    /// Where to connect to.
    pub server: ServerAddress,
    /// The scene.
    pub scene_id: String,
    /// The tissue that it cuts.
    pub tissue_id: u32,
    /// At rest: `[n_vertices]`.
    pub rest: Vec<Vec3>,
    /// As uploaded: `[n_triangles]`.
    pub triangles: Vec<[u32; 3]>,
    /// Cuts a second.
    pub rate_hz: f64,
    /// Cuts in all, no more than there are triangles.
    // More would cut triangles that are gone: an id is not used again.
    pub n_cuts: u64,
    /// Clients that share the machine.
    pub n_clients: u32,
    /// Ends it early.
    pub stop: Arc<AtomicBool>,
}

/// What became of the cuts.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// Applied and published.
    pub done: u64,
    /// In the engine, as the server says.
    pub update: Latencies,
}

/// Runs it to its end on the calling thread.
///
/// # Errors
/// When the server refuses or goes, or when there is no timer.
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
            // Awaited one by one: the number of the vertex that a cut adds counts the cuts before it.
            let answer = client.edit_topology(plan.cut(due.index as usize)).await?;
            cuts.done += 1;
            cuts.update.record(Duration::from_secs_f64(1e-6 * answer.update_us.max(0.0)));
        }
        Ok(cuts)
    })
}

impl CutPlan {
    /// The cut of that number; each before it has added one vertex.
    fn cut(&self, number: usize) -> EditTopologyRequest {
        let n_triangles = self.triangles.len();
        // Each triangle once: if the stride divides their number, one after the other.
        let stride = if n_triangles.is_multiple_of(STRIDE) { 1 } else { STRIDE };
        let t = number * stride % n_triangles;
        let [a, b, c] = self.triangles[t];
        // At rest: a deformed tissue gets a vertex a little off its surface, which the next frame puts right.
        let middle = [a, b, c].iter().map(|v| self.rest[*v as usize]).sum::<Vec3>() / 3.0;
        let m = (self.rest.len() + number) as u32;
        EditTopologyRequest {
            scene_id: self.scene_id.clone(),
            tissue_id: self.tissue_id,
            base_topology_revision: None,
            removed_triangles: vec![t as u32],
            added_positions_m: middle.to_array().to_vec(),
            // Each new triangle keeps one edge of the old one, in its direction: neighbours still agree in winding.
            added_triangles: vec![a, b, m, b, c, m, c, a, m],
            added_triangle_parents: vec![t as u32; 3],
        }
    }
}
