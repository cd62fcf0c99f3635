//! Stages of conversations: a tissue and a tool, generated or from the shared meshes.

use std::{fs, path::Path};

use glam::{DQuat, DVec3};
use palpate::{
    geometry::MeshData,
    oracle::{shapes, shared_data},
    proto::{
        FieldOptions, LinkHeader, MeshChunk, MeshFileSize, MeshFormat, MeshHeader, Pose, Probe,
        RawMeshSize, mesh_header::Source,
    },
};
use prost::Message as _;

use super::path::{about, pose, vec3};

/// Field tolerance in metres: each server builds its fields from scratch, and coarse fields build fast.
const FIELD_TOLERANCE_M: f64 = 0.002;
const PROBE_RADIUS_M: f64 = 0.001;
const JAW_LENGTH_M: f64 = 0.03;
const SHAFT_RADIUS_M: f64 = 0.004;
const SHAFT_HALF_LENGTH_M: f64 = 0.05;
const CHUNK_BYTES: usize = 256 << 10;

/// A tissue, a tool and its grip.
pub struct Stage {
    pub name: &'static str,
    pub tissue: Upload,
    pub links: Vec<(LinkHeader, Upload)>,
    pub probes: Vec<Probe>,
    pub grip: Grip,
}

/// A mesh as it is sent.
#[derive(Clone)]
pub struct Upload {
    pub header: MeshHeader,
    pub chunks: Vec<MeshChunk>,
}

/// Point of an instrument that touches, in the instrument's own frame.
pub struct Grip {
    pub tip: DVec3,
    /// Unit vector from the tip along the tool.
    pub back: DVec3,
    has_jaws: bool,
}

impl Stage {
    /// Returns all stages that are available, and the names of the others.
    pub fn all() -> (Vec<Stage>, Vec<&'static str>) {
        let Some(data) = shared_data() else { return (vec![grasper()], vec!["probe", "pliers"]) };
        let meshes = data.join("meshes");
        (vec![grasper(), probe(&meshes), pliers(&meshes)], Vec::new())
    }
}

/// Returns the digest of the meshes that depend on the standard library's sines and exponentials.
pub fn digest_of_generated(stages: &[Stage]) -> String {
    let generated = &stages[0];
    let uploads = generated.links.iter().map(|(_, mesh)| mesh).chain([&generated.tissue]);
    let mut hash = blake3::Hasher::new();
    for chunk in uploads.flat_map(|upload| &upload.chunks) {
        hash.update(&chunk.encode_to_vec());
    }
    hash.finalize().to_hex().to_string()
}

/// A tool of three links on a smooth organ.
fn grasper() -> Stage {
    let upper = shapes::jaw(JAW_LENGTH_M, 12);
    let lower = shapes::mirrored_z(&upper);
    let shaft = shapes::capsule(SHAFT_RADIUS_M, SHAFT_HALF_LENGTH_M, 16);
    let tip = upper.positions.last().expect("a jaw has vertices").as_dvec3();
    let other_tip = tip * DVec3::new(1.0, 1.0, -1.0);
    Stage {
        name: "grasper",
        tissue: Upload::raw(&shapes::organ(6_000, 7)),
        links: vec![
            link("shaft", Upload::raw(&shaft), Some(shaft_pose())),
            link("upper-jaw", Upload::raw(&upper), None),
            link("lower-jaw", Upload::raw(&lower), None),
        ],
        probes: vec![at_tip("upper-tip", 1, tip), at_tip("lower-tip", 2, other_tip)],
        grip: Grip { tip: 0.5 * (tip + other_tip), back: DVec3::NEG_X, has_jaws: true },
    }
}

/// An open dental probe on a liver.
fn probe(meshes: &Path) -> Stage {
    let tool = Upload::file(&meshes.join("dental_instrument_light.obj"), MeshFormat::Obj, 0.018);
    let tip = 0.018 * DVec3::new(0.02, 0.003, -3.551);
    Stage {
        name: "probe",
        tissue: Upload::file(&meshes.join("liver-smooth.obj"), MeshFormat::Obj, 0.03),
        links: vec![link("probe", tool, None)],
        probes: vec![at_tip("tip", 0, tip)],
        grip: Grip { tip, back: DVec3::Z, has_jaws: false },
    }
}

/// Pliers of eight open bodies on a tongue.
fn pliers(meshes: &Path) -> Stage {
    let tool = Upload::file(&meshes.join("pliers_binary.stl"), MeshFormat::Stl, 0.018);
    let tip = 0.018 * DVec3::new(-1.88, 1.11, -0.6);
    let handle = 0.018 * DVec3::new(-0.05, 0.01, 6.6);
    Stage {
        name: "pliers",
        tissue: Upload::file(&meshes.join("tongue.obj"), MeshFormat::Obj, 0.03),
        links: vec![link("pliers", tool, None)],
        probes: vec![at_tip("tip", 0, tip)],
        grip: Grip { tip, back: (handle - tip).normalize(), has_jaws: false },
    }
}

fn link(name: &str, mesh: Upload, rest_pose: Option<Pose>) -> (LinkHeader, Upload) {
    let field = Some(FieldOptions { tolerance_m: FIELD_TOLERANCE_M });
    let header = LinkHeader { name: name.to_owned(), mesh: Some(mesh.header), rest_pose, field };
    (header, mesh)
}

fn at_tip(name: &str, link: u32, at: DVec3) -> Probe {
    let position_m = Some(vec3(at));
    Probe { name: name.to_owned(), link, position_m, radius_m: PROBE_RADIUS_M }
}

/// Pose of the shaft: the capsule's z becomes x, and its end reaches the hinge.
fn shaft_pose() -> Pose {
    let half = 0.5f64.sqrt();
    let back = DVec3::NEG_X * (SHAFT_HALF_LENGTH_M + 0.5 * SHAFT_RADIUS_M);
    pose(DQuat::from_xyzw(0.0, half, 0.0, half), back)
}

impl Upload {
    pub fn raw(mesh: &MeshData) -> Upload {
        let size = RawMeshSize {
            vertices: mesh.positions.len() as u32,
            triangles: mesh.triangles.len() as u32,
        };
        let chunk = MeshChunk {
            positions: mesh.positions.iter().flat_map(|p| p.to_array()).collect(),
            triangles: mesh.triangles.concat(),
            ..MeshChunk::default()
        };
        let header = MeshHeader { source: Some(Source::Raw(size)), ..MeshHeader::default() };
        Upload { header, chunks: vec![chunk] }
    }

    fn file(file: &Path, format: MeshFormat, scale_to_m: f64) -> Upload {
        let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let size = MeshFileSize { format: format.into(), bytes: bytes.len() as u64 };
        let source = Some(Source::File(size));
        let header = MeshHeader { scale_to_m, source, ..MeshHeader::default() };
        let piece = |part: &[u8]| MeshChunk { file: part.to_vec(), ..MeshChunk::default() };
        Upload { header, chunks: bytes.chunks(CHUNK_BYTES).map(piece).collect() }
    }
}

impl Grip {
    /// Returns the poses of the links with the jaws opened about y, each to its side; `r` as in [`about`].
    pub fn link_poses(&self, r: f64) -> Vec<Pose> {
        if !self.has_jaws {
            return Vec::new();
        }
        let jaw = |r| pose(about(DVec3::Y, r), DVec3::ZERO);
        vec![shaft_pose(), jaw(-r), jaw(r)]
    }
}
