//! A link at the proxy's pose.

use glam::DVec3;

use super::tissue_view::TissueView;
use crate::coupling::posture::Posture;
use crate::geometry::{Pose, TriangleId};
use crate::scene::Link;

/// A link with its pose.
pub(super) struct PosedLink<'a> {
    pub(super) link: &'a Link,
    pub(super) number: usize,
    pub(super) scene_from_link: Pose,
    pub(super) link_from_scene: Pose,
}

impl<'a> PosedLink<'a> {
    pub(super) fn new(link: &'a Link, number: usize, posture: &Posture) -> PosedLink<'a> {
        let scene_from_link = posture.scene_from_link(number);
        PosedLink { link, number, scene_from_link, link_from_scene: scene_from_link.inverse() }
    }

    /// Returns a triangle of a tissue in the link's frame.
    pub(super) fn in_link(&self, view: &TissueView, t: TriangleId) -> [DVec3; 3] {
        self.link_from_scene.triangle(&view.triangle_at(t, view.time))
    }
}
