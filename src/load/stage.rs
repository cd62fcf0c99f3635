//! What stands on the server during a run: a scene with the plan's organ and instrument, and the path over it.

pub mod dent;
pub mod held_device;
pub mod path;
pub mod phantom;

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{error::LoadError, run::plan::Plan};
use crate::{
    client::{Client, ClientError, address::ServerAddress},
    os::interrupt::Interrupt,
    proto::{FieldBuild, MeshReport},
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

    /// The connection that set it up.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Removes the scene.
    ///
    /// # Errors
    /// When the server refuses or is gone.
    pub async fn close(mut self) -> Result<(), ClientError> {
        self.client.delete_scene(&self.scene_id).await
    }
}

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

/// Says how far the field is that the server builds.
async fn add_instrument(
    client: &mut Client,
    scene_id: &str,
    instrument: &Instrument,
) -> Result<u32, ClientError> {
    let Instrument { links, probes, .. } = instrument;
    let mut before = None;
    let told = |build: &FieldBuild| {
        let percent = (100.0 * build.share) as u32;
        if before.replace((build.link.clone(), percent)) != Some((build.link.clone(), percent)) {
            eprintln!(
                "palpate: building the distance field of the instrument's {}, kept for the next run: {percent} %",
                build.link
            );
        }
    };
    let added = client.add_tool_told(scene_id, "instrument", links, probes, told).await?;
    say_doubt(&instrument.label, &added.reports);
    Ok(added.tool_id)
}

/// Says which of a file's meshes may be in another unit.
fn say_doubt(label: &str, reports: &[MeshReport]) {
    for report in reports.iter().filter(|report| !report.unit_doubt.is_empty()) {
        eprintln!("palpate: {label} may be in another unit (--scale-to-m): {}", report.unit_doubt);
    }
}
