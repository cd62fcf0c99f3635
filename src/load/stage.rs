//! What stands on the server during a run: a scene with the plan's organ and instrument, and the path over it.

pub mod dent;
pub mod held_device;
pub mod path;
pub mod phantom;

use std::{
    pin::pin,
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::timeout;

use super::{error::LoadError, run::plan::Plan};
use crate::{
    client::{Client, ClientError, address::ServerAddress},
    os::interrupt::Interrupt,
    proto::MeshReport,
};
use path::{Path, Press};
use phantom::Instrument;

/// A scene on a server, and the connection that set it up.
pub struct Stage {
    client: Client,
    /// The scene.
    pub scene_id: String,
    /// The organ.
    pub tissue_id: u32,
    /// The instrument.
    pub tool_id: u32,
    /// Of the instrument's tip.
    pub path: Arc<Path>,
}

impl Stage {
    /// Makes a scene of its own with the plan's tissue and tool.
    ///
    /// # Errors
    /// When the server refuses or goes, or on an interrupt.
    pub async fn set_up(
        plan: &Plan,
        server: &ServerAddress,
        interrupt: &mut Interrupt,
    ) -> Result<Stage, LoadError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let mut client = Client::connect(server).await?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // By process and number: two load tests on one server, and the runs of one search for the capacity, have
        // scenes of their own.
        let scene_id = format!("load-{}-{number}", process::id());
        client.create_scene(&scene_id).await?;
        let furnished = tokio::select! {
            added = furnish(&mut client, &scene_id, plan) => added.map_err(LoadError::from),
            () = interrupt.came() => Err(LoadError::Interrupted),
        };
        match furnished {
            Ok((tissue_id, tool_id, path)) => {
                Ok(Stage { client, scene_id, tissue_id, tool_id, path: Arc::new(path) })
            }
            Err(error) => {
                // The first error says more.
                let _ = client.delete_scene(&scene_id).await;
                Err(error)
            }
        }
    }

    /// Removes the scene.
    ///
    /// # Errors
    /// When the server refuses or is gone.
    pub async fn close(mut self) -> Result<(), ClientError> {
        self.client.delete_scene(&self.scene_id).await
    }
}

/// A field that the server has kept is there within this.
const UNSAID_MAX: Duration = Duration::from_secs(1);

async fn furnish(
    client: &mut Client,
    scene_id: &str,
    plan: &Plan,
) -> Result<(u32, u32, Path), ClientError> {
    let added = client.add_tissue(scene_id, "organ", &plan.organ.mesh).await?;
    say_doubt(&plan.organ.label, added.report.as_slice());
    let tissue_id = added.tissue_id;
    let tool_id = add_instrument(client, scene_id, &plan.instrument).await?;
    // After both uploads: the survey asks the server about the surface that the ticks are going to meet.
    let press = if plan.is_rendered { Press::RENDERED } else { Press::PENETRATING };
    let path = Path::survey(client, scene_id, tissue_id, (&plan.organ.bounds, press)).await?;
    Ok((tissue_id, tool_id, path))
}

/// Says that it waits where the server builds the field.
async fn add_instrument(
    client: &mut Client,
    scene_id: &str,
    instrument: &Instrument,
) -> Result<u32, ClientError> {
    let Instrument { links, probes, .. } = instrument;
    let mut adding = pin!(client.add_tool(scene_id, "instrument", links, probes));
    let added = match timeout(UNSAID_MAX, &mut adding).await {
        Ok(added) => added,
        Err(_) => {
            eprintln!("palpate: building the instrument's distance field, kept for the next run");
            adding.await
        }
    };
    let added = added?;
    say_doubt(&instrument.label, &added.reports);
    Ok(added.tool_id)
}

/// Says which of a file's meshes may be in another unit.
fn say_doubt(label: &str, reports: &[MeshReport]) {
    for report in reports.iter().filter(|report| !report.unit_doubt.is_empty()) {
        eprintln!("palpate: {label} may be in another unit (--scale-to-m): {}", report.unit_doubt);
    }
}
