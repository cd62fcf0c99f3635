//! What a tick must answer of one link and one tissue, by brute force.

use std::collections::HashSet;

use glam::DVec3;
use palpate::{
    geometry::{Pose, TriangleId, TriangleMesh},
    oracle::{brute_force, solid_angle::winding_number},
    scene::{Contact, Distance, LinkAnswer, SurfacePoint, TissueId},
};

use super::{bound::distance_error, check::check_on_triangle};

/// Around an open surface the engine may see far parts with this error in the winding number, and then
/// claims no certainty.
const WINDING_DOUBT: f64 = 0.15;

/// A vertex of one in or near the other.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub tissue: TissueId,
    /// Of the tissue; else of the link.
    pub of_tissue: bool,
    /// Scene frame.
    pub vertex: DVec3,
    pub signed_distance: f64,
    /// It is at the edge of the margin, or on the surface, or its side cannot be told.
    pub doubtful: bool,
}

/// A link at its place and a tissue.
pub struct Meeting<'a> {
    pub tissue: TissueId,
    pub tissue_mesh: &'a TriangleMesh,
    pub link_mesh: &'a TriangleMesh,
    /// Triangles whose side says nothing.
    pub tissue_crossings: &'a HashSet<TriangleId>,
    pub link_crossings: &'a HashSet<TriangleId>,
    pub scene_from_link: Pose,
    pub margin: f64,
}

impl Meeting<'_> {
    /// Every used vertex of either that is inside the other or within the margin of it.
    pub fn touches(&self) -> Vec<Touch> {
        let link_from_scene = self.scene_from_link.inverse();
        let of_tissue =
            used_vertices(self.tissue_mesh).map(|p| (p, link_from_scene.point(p), true));
        let of_link = used_vertices(self.link_mesh).map(|p| {
            let p = self.scene_from_link.point(p);
            (p, p, false)
        });
        of_tissue
            .chain(of_link)
            .filter_map(|(vertex, seen, t)| self.touch(vertex, seen, t))
            .collect()
    }

    /// `seen`: in the frame of the other mesh.
    fn touch(&self, vertex: DVec3, seen: DVec3, of_tissue: bool) -> Option<Touch> {
        let (other, crossing) = match of_tissue {
            true => (self.link_mesh, self.link_crossings),
            false => (self.tissue_mesh, self.tissue_crossings),
        };
        let reach = other.used_box().distance_squared(seen).sqrt();
        if reach > self.margin + 1e-9 {
            return None;
        }
        let nearest = brute_force::nearest(other, seen).expect("has triangles");
        // Carried into the other frame first, which rounds once more at the size of the pose.
        let error = distance_error(other, nearest.triangle, seen)
            + 64.0 * f64::EPSILON * self.scene_from_link.translation.length();
        let winding = if reach > 0.0 { 0.0 } else { winding_number(other, seen) };
        let inside = winding > 0.5;
        let signed_distance = if inside { -nearest.distance } else { nearest.distance };
        let unsure = (winding - 0.5).abs() < WINDING_DOUBT
            || nearest.distance <= error
            || crossing.contains(&nearest.triangle);
        let doubtful = unsure || (signed_distance - self.margin).abs() <= error;
        let wanted = unsure || signed_distance <= self.margin + error;
        wanted.then_some(Touch {
            tissue: self.tissue,
            of_tissue,
            vertex,
            signed_distance,
            doubtful,
        })
    }

    /// Of the two surfaces, 0 where they cross.
    pub fn surface_distance(&self) -> f64 {
        let link = brute_force::placed(self.link_mesh, &self.scene_from_link);
        brute_force::surface_distance(
            &brute_force::placed(self.tissue_mesh, &Pose::IDENTITY),
            &link,
        )
    }
}

fn used_vertices(mesh: &TriangleMesh) -> impl Iterator<Item = DVec3> + '_ {
    (0..mesh.positions().len() as u32)
        .filter(|v| mesh.ring(*v).next().is_some())
        .map(|v| mesh.position(v))
}

/// How much of a link's answer was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    pub apart: usize,
    pub inside: usize,
    pub beyond: usize,
    pub touches: usize,
    pub doubtful: usize,
}

/// Holds a link's answer, all contacts asked for, to all its meetings.
pub fn check_link(
    answer: &LinkAnswer,
    meetings: &[Meeting],
    max_distance: f64,
    compared: &mut Compared,
    about: &str,
) {
    let touches: Vec<Touch> = meetings.iter().flat_map(Meeting::touches).collect();
    check_contacts(answer, &touches, meetings, about);
    let doubtful = touches.iter().filter(|t| t.doubtful).count();
    compared.touches += touches.len() - doubtful;
    compared.doubtful += doubtful;

    let certain = touches.iter().filter(|t| !t.doubtful);
    let deepest = certain.map(|t| t.signed_distance).fold(f64::INFINITY, f64::min);
    let apart = || meetings.iter().map(Meeting::surface_distance).fold(f64::INFINITY, f64::min);
    let got = match &answer.distance {
        Distance::Within(contact) => contact.signed_distance_m,
        Distance::Beyond(bound) => {
            assert_eq!(*bound, max_distance, "{about}");
            let least = if deepest < 0.0 { deepest } else { apart() };
            assert!(least >= max_distance - 1e-9, "{about}: {least} and not told");
            compared.beyond += 1;
            return;
        }
    };
    let deepest = deepest.min(0.0);
    let is_doubtful = |t: &Touch| t.doubtful && (got + t.signed_distance.abs()).abs() <= 1e-9;
    if got < deepest && touches.iter().any(is_doubtful) {
        return;
    }
    let expected = if deepest < 0.0 { deepest } else { apart() };
    assert!((got - expected).abs() <= 1e-9, "{about}: {got}, oracle {expected}");
    *(if expected < 0.0 { &mut compared.inside } else { &mut compared.apart }) += 1;
}

/// Every certain touch is among the contacts, every contact is a touch, deepest first.
fn check_contacts(answer: &LinkAnswer, touches: &[Touch], meetings: &[Meeting], about: &str) {
    let contacts = &answer.contacts;
    assert_eq!(answer.contacts_total, contacts.len(), "{about}: not all were asked for");
    let ordered = |w: &[Contact]| w[0].signed_distance_m <= w[1].signed_distance_m;
    assert!(contacts.windows(2).all(ordered), "{about}: not deepest first");
    contacts.iter().for_each(|c| check_contact(c, meetings, about));
    for touch in touches.iter().filter(|t| !t.doubtful) {
        let is_it = |c: &&Contact| is_touch(c, touch);
        let found = contacts.iter().filter(is_it).count();
        assert!(found > 0, "{about}: {touch:?} is not among {} contacts", contacts.len());
    }
    for meeting in meetings {
        let contacts: Vec<_> = contacts.iter().filter(|c| c.tissue == meeting.tissue).collect();
        let of_meeting = touches.iter().filter(|t| t.tissue == meeting.tissue);
        let (doubtful, certain): (Vec<&Touch>, Vec<&Touch>) = of_meeting.partition(|t| t.doubtful);
        // Without any vertex, the closest points may be a contact.
        let most = (certain.len() + doubtful.len()).max(1);
        assert!(
            (certain.len()..=most).contains(&contacts.len()),
            "{about}: {} contacts, oracle {} and {} doubtful",
            contacts.len(),
            certain.len(),
            doubtful.len(),
        );
    }
}

fn is_touch(c: &Contact, touch: &Touch) -> bool {
    let at = if touch.of_tissue { &c.on_tissue } else { &c.on_tool };
    let is_vertex = at.barycentric.max_element() == 1.0;
    c.tissue == touch.tissue
        && is_vertex
        && at.position.distance(touch.vertex) <= 1e-9
        && (c.signed_distance_m - touch.signed_distance).abs() <= 1e-9
}

/// Both points are where their triangle and weights say, as far apart as the distance says, along the
/// normal.
fn check_contact(c: &Contact, meetings: &[Meeting], about: &str) {
    let meeting = meetings.iter().find(|m| m.tissue == c.tissue).expect("a tissue of the scene");
    let on = |at: &SurfacePoint, mesh: &TriangleMesh, local_from_scene: &Pose| {
        let local = local_from_scene.point(at.position);
        let [p, q, r] = mesh.triangle(at.triangle);
        let reproduced = p * at.barycentric.x + q * at.barycentric.y + r * at.barycentric.z;
        assert!(reproduced.distance(local) <= 1e-9, "{about}: {c:?}");
        check_on_triangle(mesh, at.triangle, reproduced, at.barycentric, about);
    };
    on(&c.on_tissue, meeting.tissue_mesh, &Pose::IDENTITY);
    on(&c.on_tool, meeting.link_mesh, &meeting.scene_from_link.inverse());
    let between = c.on_tool.position - c.on_tissue.position;
    let off = (between.length() - c.signed_distance_m.abs()).abs();
    assert!(off <= 1e-9, "{about}: {c:?} has points {off:e} off its distance");
    assert!((0.0..=1.0).contains(&c.sign_certainty), "{about}: {c:?}");
    let length = c.normal.length();
    assert!(length == 0.0 || (length - 1.0).abs() < 1e-12, "{about}: {c:?}");
    if c.signed_distance_m.abs() > 1e-6 {
        let along = between.dot(c.normal) - c.signed_distance_m;
        assert!(along.abs() <= 1e-9, "{about}: the normal of {c:?} does not point to the tool");
    }
}
