//! Random instruments.

use glam::{DQuat, DVec3};
use palpate::{
    geometry::MeshData,
    oracle::{Random, shapes},
    proto::{AddToolHeader, AddToolRequest, FieldOptions, LinkHeader, Probe, ToolPose},
};

use super::{placed::Placed, soup::Soup, tissue::is_closed};
use crate::support::{
    meshes::wire,
    messages::{SCENE, tool_head, tool_piece, vec3},
};

/// Number of kinds of instruments.
pub const KINDS: usize = 6;

/// An instrument as it was uploaded.
pub struct Instrument {
    pub id: u32,
    pub links: Vec<Link>,
    pub probes: Vec<(usize, DVec3, f64)>,
}

/// A link and what the server reported of its field.
pub struct Link {
    pub mesh: MeshData,
    pub rest: Placed,
    pub tolerance_m: f64,
    pub is_closed: bool,
}

/// Poses of a tool and its links.
#[derive(Clone, Debug)]
pub struct Posture {
    pub tool: Placed,
    pub links: Vec<Placed>,
    pub teleport: bool,
}

impl Instrument {
    /// Makes an instrument of a kind; its upload sets its id.
    pub fn random(kind: usize, random: &mut Random) -> (&'static str, Instrument) {
        let (name, meshes) = match kind % KINDS {
            0 => ("needle", vec![shapes::capsule(random.range(3e-4, 2e-3), 0.012, 6)]),
            1 => ("open tube", vec![shapes::tube(random.range(1.5e-3, 6e-3), 0.02, 10, 3)]),
            2 => {
                let jaw = shapes::jaw(random.range(0.01, 0.03), 4);
                ("jaws", vec![shapes::mirrored_z(&jaw), jaw])
            }
            3 => ("ball", vec![shapes::sphere(random.range(2e-3, 0.02), 3)]),
            4 => ("blade", vec![shapes::cuboid(DVec3::new(3e-4, 8e-3, 0.03))]),
            _ => ("ring", vec![shapes::torus(0.01, random.range(1e-3, 4e-3), 12, 6)]),
        };
        let link = |mesh: MeshData| Link {
            is_closed: is_closed(mesh.triangles.iter().copied()),
            rest: Placed::REST.nudged(DVec3::ZERO, 0.3, 2e-3, random),
            tolerance_m: 0.0,
            mesh,
        };
        let links: Vec<Link> = meshes.into_iter().map(link).collect();
        let of_link = &links[0].mesh.positions;
        let tip = of_link[random.below(of_link.len())].as_dvec3();
        let probes = vec![(0, tip, random.range(0.0, 3e-3))];
        (name, Instrument { id: 0, links, probes })
    }

    pub fn upload(&self, tolerance_m: f64) -> Vec<AddToolRequest> {
        let header = |(i, link): (usize, &Link)| LinkHeader {
            name: format!("link-{i}"),
            mesh: Some(wire(&link.mesh).header()),
            rest_pose: Some(link.rest.wire()),
            field: Some(FieldOptions { tolerance_m }),
        };
        let probe = |(link, at, radius_m): &(usize, DVec3, f64)| Probe {
            name: "tip".to_owned(),
            link: *link as u32,
            position_m: Some(vec3(at.x, at.y, at.z)),
            radius_m: *radius_m,
        };
        let head = AddToolHeader {
            scene_id: SCENE.to_owned(),
            name: "tool".to_owned(),
            links: self.links.iter().enumerate().map(header).collect(),
            probes: self.probes.iter().map(probe).collect(),
        };
        let chunks = self.links.iter().enumerate().map(|(i, link)| {
            let mut chunk = wire(&link.mesh).chunk();
            chunk.link = i as u32;
            tool_piece(chunk)
        });
        [tool_head(head)].into_iter().chain(chunks).collect()
    }

    /// Returns a posture with all links at rest, or with each link turned a little.
    pub fn posture(&self, tool: Placed, random: &mut Random) -> Posture {
        let links = if self.links.len() > 1 && random.below(3) > 0 {
            let bent = |link: &Link| {
                let turn = DQuat::from_axis_angle(DVec3::Y, random.range(-0.5, 0.5));
                Placed { turn: (link.rest.turn * turn).normalize(), at: link.rest.at }
            };
            self.links.iter().map(bent).collect()
        } else {
            self.links.iter().map(|l| l.rest).collect()
        };
        Posture { tool, links, teleport: false }
    }

    /// Returns a link's triangles in the scene frame.
    pub fn soup(&self, link: usize, scene_from_link: &Placed) -> Soup {
        let Link { mesh, is_closed, .. } = &self.links[link];
        let at = |v: u32| scene_from_link.point(mesh.positions[v as usize].as_dvec3());
        let placed = (0..).zip(&mesh.triangles).map(|(id, t)| (id, t.map(at))).collect();
        Soup::new(placed, *is_closed)
    }
}

impl Posture {
    pub fn scene_from_link(&self, link: usize) -> Placed {
        self.tool.of(&self.links[link])
    }

    pub fn wire(&self, tool_id: u32) -> ToolPose {
        ToolPose {
            tool_id,
            pose: Some(self.tool.wire()),
            link_poses: self.links.iter().map(Placed::wire).collect(),
            teleport: self.teleport,
        }
    }
}
