//! The organ and the instrument of a scene, generated or from the user's files.

use std::path::Path;

use glam::{DMat3, DVec3, Vec3};

use super::path::{PRESS_PERIOD_S, Site};
use crate::client::{
    LinkUpload,
    local_model::on_the_wire,
    mesh_source::{MeshFileError, MeshSource},
};
use crate::{
    geometry::{
        Aabb, MeshData, Pose,
        mesh::holes::filling_all_m,
        principal_axes::principal_axes,
        short_number::{ShortNumber, grouped},
    },
    oracle::shapes,
    proto,
};

// The organ has 20,480: the count is 20 times a square, and 32 is the nearest frequency.
const ORGAN_TRIANGLES: u32 = 20_000;
const ORGAN_SEED: u64 = 7;
/// A fold along the organ's upper side, which the jaws can grasp: its height on top, and the distance from its crest at
/// which its flanks are steepest, metres.
const FOLD_HEIGHT_M: f32 = 0.01;
const FOLD_HALF_WIDTH_M: f32 = 0.0045;
/// Vertices within the first distance of the middle move to this share of it, so that a flank is three triangles wide;
/// beyond the second distance none moves. Metres.
const FOLD_NEAR_M: (f32, f32) = (0.012, 0.035);
const FOLD_SHARE: f32 = 0.65;

/// The generated grasper, metres: an adult laparoscopic one, its shaft cut short.
const JAW_LENGTH_M: f64 = 0.03;
const JAW_STEPS: u32 = 16;
const SHAFT_RADIUS_M: f64 = 0.004;
const SHAFT_HALF_LENGTH_M: f64 = 0.05;
const PROBE_RADIUS_M: f64 = 0.001;
/// Opening of a jaw from its gripping plane: least angle and additional amplitude, radians.
const OPENING: (f64, f64) = (0.05, 0.3);
/// Time in each press at which the jaws are wide open, the tip on its way down: they then close on the tissue between
/// them.
const WIDE_OPEN_S: f64 = 0.2;

/// Lean of the instrument from the surface's normal, radians: nobody works at a right angle.
const LEAN: f64 = 0.25;

/// Part of a tool's length, from either end, whose width distinguishes the tip from the handle.
const END_PART: f64 = 0.15;
/// Plausible longest sides of a tool, in longest sides of the tissue.
const USUAL_TOOL_SIZES: (f64, f64) = (0.1, 5.0);

/// The tissue.
#[derive(Clone, Debug)]
pub struct PhantomTissue {
    /// Short description.
    pub label: String,
    /// Mesh to upload.
    pub mesh: MeshSource,
    /// Vertices at rest, metres, numbered as uploaded.
    pub rest: Vec<Vec3>,
    /// Triangles, numbered as uploaded.
    pub triangles: Vec<[u32; 3]>,
    /// Box of all vertices that a triangle uses.
    pub bounds: Aabb,
}

/// The tool, and how it is held.
#[derive(Clone, Debug)]
pub struct Instrument {
    /// Short description.
    pub label: String,
    /// Links to upload.
    pub links: Vec<LinkUpload>,
    /// Probes fixed to the tool's tips.
    pub probes: Vec<proto::Probe>,
    /// The part that touches, tool frame.
    tip: DVec3,
    /// Unit vector from the tip along the tool, tool frame.
    back: DVec3,
    /// Longest extent, metres.
    length_m: f64,
    /// True if the second and third link are jaws that open about y.
    has_jaws: bool,
    /// Diagonal limit that would fill the holes still open, metres.
    holes_m: Option<f64>,
}

impl PhantomTissue {
    /// Returns a smooth lumpy organ, 0.2 m long.
    pub fn smooth() -> PhantomTissue {
        PhantomTissue::of(shapes::organ(ORGAN_TRIANGLES, ORGAN_SEED))
    }

    /// Returns an organ in the outline of a liver, 0.2 m long, with a fold under the tip's path.
    pub fn folded() -> PhantomTissue {
        let mut mesh = shapes::organ(ORGAN_TRIANGLES, ORGAN_SEED);
        shape_liver(&mut mesh.positions);
        raise_fold(&mut mesh.positions);
        PhantomTissue::of(mesh)
    }

    fn of(mesh: MeshData) -> PhantomTissue {
        PhantomTissue {
            label: "generated organ".to_owned(),
            rest: mesh.positions.clone(),
            triangles: mesh.triangles.clone(),
            bounds: Aabb::of_points(mesh.positions.iter().copied()),
            mesh: MeshSource::Raw(mesh),
        }
    }

    /// Opens a mesh file as the tissue.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is damaged or would be refused.
    pub fn open(file: &Path, scale_to_m: f64) -> Result<PhantomTissue, MeshFileError> {
        let (mesh, loaded) = MeshSource::open(file, scale_to_m)?;
        Ok(PhantomTissue {
            label: name_of(file),
            mesh,
            rest: loaded.mesh.positions().to_vec(),
            triangles: loaded.mesh.triangle_ids().map(|t| loaded.mesh.vertices(t)).collect(),
            bounds: loaded.mesh.used_box(),
        })
    }

    /// Returns a one-line description.
    pub fn line(&self) -> String {
        let size = self.bounds.size() * 1e3;
        format!(
            "{}, {} triangles, {:.0} x {:.0} x {:.0} mm",
            self.label,
            grouped(self.triangles.len() as u64),
            size.x,
            size.y,
            size.z
        )
    }

    /// Returns the longest side of the tissue's box, metres.
    pub fn length_m(&self) -> f64 {
        self.bounds.size().max_element()
    }
}

/// Gives a lump about the origin, 0.2 m long, the outline of a liver: thick on one side, thin and bent back on the
/// other, with a sharp front edge and a flat underside. Each step scales or shifts along one axis by the others:
/// nothing crosses.
fn shape_liver(positions: &mut [Vec3]) {
    for p in positions {
        let thin = smooth_step(-0.06, 0.1, p.x);
        p.y = p.y * (1.12 - 0.5 * thin) + 0.022 * thin * thin;
        let front = smooth_step(0.0, 0.06, -p.y);
        let under = if p.z < 0.0 { 0.6 } else { 1.0 };
        p.z *= under * (1.2 - 0.55 * thin) * (1.0 - 0.4 * front);
    }
}

/// Raises a fold along x over the middle of y. Vertices above z = 0 rise in proportion to their height: nothing
/// crosses.
fn raise_fold(positions: &mut [Vec3]) {
    let top = positions.iter().fold(0.0, |top: f32, p| top.max(p.z));
    let (near, far) = FOLD_NEAR_M;
    let catching_up = (far - FOLD_SHARE * near) / (far - near);
    for p in positions {
        let away = p.y.abs();
        if away < near {
            p.y *= FOLD_SHARE;
        } else if away < far {
            p.y = (far - catching_up * (far - away)).copysign(p.y);
        }
        let across = (p.y / FOLD_HALF_WIDTH_M).powi(4);
        p.z += FOLD_HEIGHT_M * (-across).exp() * (p.z / top).max(0.0);
    }
}

/// Rises from 0 at `from` to 1 at `to`, with slope 0 at both.
fn smooth_step(from: f32, to: f32, at: f32) -> f32 {
    let t = ((at - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl Instrument {
    /// Returns a grasper: a shaft along -x from the hinge at the origin and two jaws along +x.
    pub fn grasper() -> Instrument {
        let upper = shapes::jaw(JAW_LENGTH_M, JAW_STEPS);
        let lower = shapes::mirrored_z(&upper);
        let shaft = shapes::capsule(SHAFT_RADIUS_M, SHAFT_HALF_LENGTH_M, 24);
        let link = |name: &str, mesh, rest_pose| LinkUpload {
            rest_pose,
            ..LinkUpload::new(name, MeshSource::Raw(mesh))
        };
        // A jaw's last two vertices are the centres of its ends.
        let tip = upper.positions.last().expect("a jaw has vertices").as_dvec3();
        let mirrored_tip = tip * DVec3::new(1.0, 1.0, -1.0);
        Instrument {
            label: "generated grasper, 3 links".to_owned(),
            links: vec![
                link("shaft", shaft, Some(on_the_wire(&shaft_at_rest()))),
                link("upper-jaw", upper, None),
                link("lower-jaw", lower, None),
            ],
            probes: vec![probe("upper-tip", 1, tip), probe("lower-tip", 2, mirrored_tip)],
            tip: 0.5 * (tip + mirrored_tip),
            back: DVec3::NEG_X,
            length_m: JAW_LENGTH_M + 2.0 * (SHAFT_HALF_LENGTH_M + SHAFT_RADIUS_M),
            has_jaws: true,
            holes_m: None,
        }
    }

    /// Opens a mesh file as a tool of one link. Its tip is the outermost vertex of the slimmer end of its longest
    /// principal axis.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is damaged or would be refused.
    pub fn open(
        file: &Path,
        scale_to_m: f64,
        fill_holes_m: f64,
    ) -> Result<Instrument, MeshFileError> {
        let (mesh, loaded) = MeshSource::open(file, scale_to_m)?;
        let vertices: Vec<DVec3> = loaded.mesh.positions().iter().map(|p| p.as_dvec3()).collect();
        let Grip { tip, back, length_m } = Grip::of(&vertices);
        Ok(Instrument {
            label: name_of(file),
            links: vec![LinkUpload { fill_holes_m, ..LinkUpload::new("tool", mesh) }],
            probes: vec![probe("tip", 0, tip)],
            tip,
            back,
            length_m,
            has_jaws: false,
            holes_m: filling_all_m(&loaded.mesh, fill_holes_m),
        })
    }

    /// Returns the pose of the tool whose tip is at a site. `side` is across the path.
    pub fn pose(&self, site: &Site, side: DVec3) -> Pose {
        let across = perpendicular(site.outward, side);
        let lean = DMat3::from_axis_angle(across, LEAN);
        let scene = DMat3::from_cols(site.outward, across, site.outward.cross(across));
        let (u, v) = self.back.any_orthonormal_pair();
        let tool = DMat3::from_cols(self.back, u, v);
        // Rotates from the tool to the axes of its back, from those to the surface's, and then off the normal.
        let rotation = lean * scene * tool.transpose();
        // The tip is put on the site exactly: lean and shape of the tool do not change how deep it presses.
        Pose { rotation, translation: site.tip() - rotation * self.tip }
    }

    /// Returns tool frame from each link's frame at a time; empty when nothing moves.
    pub fn link_poses(&self, seconds: f64) -> Vec<Pose> {
        if !self.has_jaws {
            return Vec::new();
        }
        let phase = std::f64::consts::TAU * (seconds - WIDE_OPEN_S) / PRESS_PERIOD_S;
        let angle = OPENING.0 + OPENING.1 * (0.5 + 0.5 * phase.cos());
        // A rotation about y by a negative angle lifts +x towards +z, where the upper jaw is.
        let jaw =
            |angle| Pose { rotation: DMat3::from_rotation_y(angle), translation: DVec3::ZERO };
        vec![shaft_at_rest(), jaw(-angle), jaw(angle)]
    }

    /// Returns a warning about open holes; nothing is filled because of it.
    pub fn open_end(&self) -> Option<String> {
        let holes_m = ShortNumber(self.holes_m?);
        Some(format!(
            "the tool is open, and ticks take up to twice as long about its holes: if it is meant to be closed, \
             --fill-holes-m {holes_m} fills them"
        ))
    }

    /// Returns a warning about implausible sizes; nothing is scaled because of it.
    pub fn odd_size(&self, organ: &PhantomTissue) -> Option<String> {
        let ratio = self.length_m / organ.length_m();
        let (least, most) = USUAL_TOOL_SIZES;
        (!(least..=most).contains(&ratio)).then(|| {
            format!(
                "the tool is {:.4} m long and the tissue {:.4} m: if that is not meant, their files \
                 are in different units (--scale-to-m, --tool-scale-to-m)",
                self.length_m,
                organ.length_m()
            )
        })
    }
}

/// The capsule's z becomes x; its end reaches the hinge.
fn shaft_at_rest() -> Pose {
    Pose {
        rotation: DMat3::from_rotation_y(std::f64::consts::FRAC_PI_2),
        translation: DVec3::NEG_X * (SHAFT_HALF_LENGTH_M + 0.5 * SHAFT_RADIUS_M),
    }
}

/// Grip on a tool of unknown shape.
struct Grip {
    tip: DVec3,
    back: DVec3,
    length_m: f64,
}

impl Grip {
    fn of(vertices: &[DVec3]) -> Grip {
        let axis = principal_axes(vertices).x_axis;
        let along = |p: &DVec3| axis.dot(*p);
        let (least, most) = vertices
            .iter()
            .map(along)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        let length_m = most - least;
        // The width is that of a part of each end: the outermost vertex alone has none.
        let width = |end: &dyn Fn(f64) -> bool| {
            let part: Vec<DVec3> = vertices.iter().filter(|p| end(along(p))).copied().collect();
            let size = Aabb::around(part.iter().map(|p| *p - axis * along(p))).size();
            size.length()
        };
        let low = width(&|x| x <= least + END_PART * length_m);
        let high = width(&|x| x >= most - END_PART * length_m);
        let back = if low < high { axis } else { -axis };
        let tip = vertices.iter().copied().min_by(|p, q| back.dot(*p).total_cmp(&back.dot(*q)));
        Grip { tip: tip.expect("a mesh has vertices"), back, length_m }
    }
}

/// Returns the unit vector perpendicular to the unit vector `n` that is nearest to `wanted`.
fn perpendicular(n: DVec3, wanted: DVec3) -> DVec3 {
    (wanted - n * n.dot(wanted)).try_normalize().unwrap_or_else(|| n.any_orthonormal_vector())
}

fn probe(name: &str, link: u32, at: DVec3) -> proto::Probe {
    proto::Probe {
        name: name.to_owned(),
        link,
        position_m: Some(proto::Vec3 { x: at.x, y: at.y, z: at.z }),
        radius_m: PROBE_RADIUS_M,
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_held_by_its_thick_end() {
        // A jaw lies along x and tapers towards +x.
        let vertices: Vec<DVec3> =
            shapes::jaw(0.1, 24).positions.iter().map(|p| p.as_dvec3()).collect();
        let grip = Grip::of(&vertices);
        assert!(grip.back.x < -0.9, "{}", grip.back);
        assert!((grip.tip.x - 0.1).abs() < 1e-6, "{}", grip.tip);
        assert!((grip.length_m / 0.1 - 1.0).abs() < 0.2, "{}", grip.length_m);
    }

    #[test]
    fn the_tip_is_put_on_the_site_and_the_tool_outside() {
        let tool = Instrument::grasper();
        let outward = DVec3::new(1.0, 2.0, -0.5).normalize();
        let site = Site { surface: DVec3::splat(0.1), outward, height_m: -0.002, dent_m: 0.0 };
        for side in [DVec3::Y, outward] {
            let pose = tool.pose(&site, side);
            assert!(pose.point(tool.tip).distance(site.tip()) < 1e-12);
            let leaning = pose.vector(tool.back).angle_between(outward);
            assert!((leaning - LEAN).abs() < 1e-9, "{leaning}");
        }
    }

    #[test]
    fn an_open_tool_is_told_what_fills_it_until_that_is_asked_for() {
        let file =
            std::env::temp_dir().join(format!("palpate-open-tool-{}.obj", std::process::id()));
        // A tetrahedron without the face between its last three corners: the box of the hole has a diagonal of 5.001
        // mm.
        let text = "v 0 0 0\nv 3 0 0\nv 0 4 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";
        std::fs::write(&file, text).expect("a temporary folder");
        let open = |fill_holes_m| Instrument::open(&file, 1e-3, fill_holes_m).expect("a mesh");
        let said = open(0.005).open_end().expect("a hole");
        assert!(said.contains("--fill-holes-m 0.0051 fills"), "{said}");
        assert_eq!(open(0.0051).open_end(), None);
        assert_eq!(Instrument::grasper().open_end(), None);
        std::fs::remove_file(&file).expect("just written");
    }

    #[test]
    fn odd_sizes_are_said() {
        let (organ, mut tool) = (PhantomTissue::folded(), Instrument::grasper());
        assert_eq!(tool.odd_size(&organ), None);
        tool.length_m = 12.0;
        assert!(tool.odd_size(&organ).is_some_and(|s| s.contains("12.0000 m long")));
    }
}
