//! The server's state for a run: a scene with the plan's organ and instrument, and the path over it.

pub mod dent;
pub mod held_device;
mod nodule;
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
    /// Id of the scene.
    pub scene_id: String,
    /// Id of the organ.
    pub tissue_id: u32,
    /// Id of the instrument.
    pub tool_id: u32,
    /// Path of the instrument's tip.
    pub path: Arc<Path>,
}

impl Stage {
    /// Creates a scene with the plan's tissue and tool.
    ///
    /// # Errors
    /// Returns an error if the server refuses or goes away, or on an interrupt.
    pub async fn set_up(
        plan: &Plan,
        server: &ServerAddress,
        interrupt: &mut Interrupt,
    ) -> Result<Stage, LoadError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let mut client = Client::connect(server).await?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Ids contain process and number: two load tests on one server, and the runs of one search for the capacity,
        // have separate scenes.
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

    /// Returns a clone of the connection that set the scene up.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Removes the scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses or is gone.
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
    print_warnings(&plan.organ.label, added.report.as_slice());
    let tissue_id = added.tissue_id;
    let tool_id = add_instrument(client, scene_id, &plan.instrument).await?;
    // The survey follows both uploads: it asks the server about the surface that the ticks will meet.
    let press = if plan.is_rendered { Press::RENDERED } else { Press::PENETRATING };
    let path = Path::survey(client, scene_id, tissue_id, (&plan.organ.bounds, press)).await?;
    if plan.has_nodule {
        let feel = nodule::feel(&plan.organ, path.middle()).expect("materials in their ranges");
        client.set_feel(scene_id, tissue_id, Some(&feel)).await?;
    }
    Ok((tissue_id, tool_id, path))
}

/// Uploads the instrument, and prints the progress of the fields that the server builds.
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
    print_warnings(&instrument.label, &added.reports);
    Ok(added.tool_id)
}

/// Prints what is unusual in the meshes of a file.
fn print_warnings(label: &str, reports: &[MeshReport]) {
    for warning in reports.iter().flat_map(|report| &report.warnings) {
        eprintln!("palpate: {label} {warning}");
    }
}
