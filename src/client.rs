//! A connection to a server: sets up a scene, deforms and cuts its tissues, opens a haptic loop, holds a device in it.
//!
//! This module knows the contract, meshes and their files, and the servo; neither the server nor the harness that
//! drives it.

pub mod address;
mod connection;
#[cfg(feature = "cli")]
pub mod credentials;
mod deform_stream;
mod device;
mod duplex;
mod error;
mod feel;
pub mod local_model;
pub mod mesh_source;
mod proxied_host;
mod routes;
mod server_connection;
mod streamed;
mod tissue_binding;
mod track_loop;

use crate::{
    geometry::Pose,
    proto::{RenderOptions, TrackStart},
    servo::device_servo,
};
pub use address::ServerAddress;
pub use connection::{Client, LinkUpload, TissueUpload};
pub use deform_stream::DeformStream;
pub use device::Device;
pub use duplex::Duplex;
pub use error::ClientError;
use local_model::{of_the_wire, servo_options};
pub use streamed::{ExportedTissue, FoundCollisions};
pub use tissue_binding::TissueBinding;
pub use track_loop::{LoopOptions, LoopStatus, TrackLoop, device_deadline};

// Separate from the calls of one connection: a loop makes connections of its own.
impl Client {
    /// Opens a haptic loop over these tools, on a connection and a thread of its own, with the contract's default
    /// options.
    ///
    /// # Errors
    /// Returns an error if the server refuses the loop or is gone.
    pub async fn haptics(
        &self,
        scene_id: &str,
        tool_ids: &[u32],
    ) -> Result<TrackLoop, ClientError> {
        let (scene_id, tool_ids) = (scene_id.to_owned(), tool_ids.to_vec());
        let start = TrackStart { scene_id, tool_ids, ..TrackStart::default() };
        self.haptics_with(start, LoopOptions::default()).await
    }

    /// Opens a haptic loop as [`Client::haptics`], with options.
    ///
    /// # Errors
    /// See [`Client::haptics`].
    pub async fn haptics_with(
        &self,
        start: TrackStart,
        options: LoopOptions,
    ) -> Result<TrackLoop, ClientError> {
        TrackLoop::open(self.server().clone(), start, options).await
    }

    /// Opens a haptic loop for a device that holds a tool; returns the loop and the [`Device`] for the device's thread.
    /// The loop samples the device's pose a thousand times a second; the device renders at its own rate.
    ///
    /// # Errors
    /// See [`Client::haptics`]; also returns an error if an option is out of its range.
    pub async fn hold(
        &self,
        scene_id: &str,
        render: RenderOptions,
    ) -> Result<(TrackLoop, Device), ClientError> {
        let (mut servo, feed) = device_servo(servo_options(&render))?;
        servo.rest_at(self.rest_poses(scene_id, render.tool_id).await?);
        let options = LoopOptions { device: Some(feed), ..LoopOptions::default() };
        let device = Device::new(servo, options.epoch);
        let start = TrackStart {
            scene_id: scene_id.to_owned(),
            tool_ids: vec![render.tool_id],
            render: vec![RenderOptions { local_model: true, ..render }],
            ..TrackStart::default()
        };
        Ok((self.haptics_with(start, options).await?, device))
    }

    /// Returns the poses of a tool's links while none are given, tool frame from link frame; empty if there is no such
    /// tool.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn rest_poses(&self, scene_id: &str, tool_id: u32) -> Result<Vec<Pose>, ClientError> {
        let scene = self.clone().scene(scene_id).await?;
        let tool = scene.tools.into_iter().find(|tool| tool.tool_id == tool_id);
        let links = tool.map(|tool| tool.links).unwrap_or_default();
        let rest = links.iter().map(|link| link.rest_pose.as_ref().and_then(of_the_wire));
        Ok(rest.map(|pose| pose.unwrap_or(Pose::IDENTITY)).collect())
    }

    /// Opens a stream that deforms the tissues of a scene, one deformation after the other.
    ///
    /// # Errors
    /// Returns an error if the server refuses the stream or is gone.
    pub async fn deformations(&mut self, scene_id: &str) -> Result<DeformStream, ClientError> {
        let (server, stream) = self.deform_scene(scene_id).await?;
        Ok(DeformStream::new(server, scene_id, stream))
    }
}
