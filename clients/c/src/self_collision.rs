//! Contacts of tissues with themselves and each other.

use palpate::scene::{
    TissueId,
    limits::{CANDIDATE_PAIRS_MAX, DISTANCE_MAX_M, FEATURE_CONTACTS_MAX},
    self_collision::{Interval, Scope, SelfCollisionOptions},
};

use crate::{
    border::{array, at_most, buffer, call, out, read},
    code::{Failure, palpate_code},
    plain::palpate_vec3,
    scene::palpate_scene,
};

/// Stands for the newest revision of a tissue.
pub const PALPATE_NEWEST: u64 = u64::MAX;

/// The two revisions between which a tissue moves, each held by `palpate_hold_tissue`, or `PALPATE_NEWEST`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct palpate_interval {
    /// The tissue.
    pub tissue_id: u32,
    /// Geometry revision at time 0; `PALPATE_NEWEST`: as `to_revision`, so that the tissue stands still.
    pub from_revision: u64,
    /// Geometry revision at time 1.
    pub to_revision: u64,
}

/// First contact of two features: a vertex and a face, or two edges.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_self_contact {
    /// Time of the contact, 0 to 1.
    pub toi: f64,
    /// `PALPATE_VERTEX_FACE` or `PALPATE_EDGE_EDGE`.
    pub kind: u32,
    /// Tissue of the vertex, or of the edge that is less by tissue and vertices.
    pub tissue_id: u32,
    /// Tissue of the face, or of the other edge.
    pub other_tissue_id: u32,
    /// The vertex and the face's three; or the ends of one edge, ascending, then of the other, ascending.
    pub vertices: [u32; 4],
    /// The least triangle that has the vertex or the first edge.
    pub triangle: u32,
    /// The face, or the least triangle that has the other edge.
    pub other_triangle: u32,
    /// Weights of the contact on `triangle`.
    pub barycentric: palpate_vec3,
    /// Weights of the contact on `other_triangle`.
    pub other_barycentric: palpate_vec3,
    /// Closest point of the first feature at `toi`, scene frame.
    pub point_m: palpate_vec3,
    /// Closest point of the other feature at `toi`.
    pub other_point_m: palpate_vec3,
    /// Unit, towards the first feature from the other as they come together; zero if nothing defines it.
    pub normal: palpate_vec3,
}

/// Holds the newest revision of a tissue, so that `palpate_self_collisions` may start from it; a tissue holds eight, and
/// the oldest gives way. `geometry_revision` is set to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_hold_tissue(
    scene: *mut palpate_scene,
    tissue_id: u32,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let revision = out(geometry_revision, "geometry_revision")?;
            *revision = read(scene, "scene")?.theatre.hold(tissue_id)?;
        }
        Ok(())
    })
}

/// Finds where tissues, each named once, meet themselves and, unless `within_each` is not 0, each other as they move
/// straight from one revision to the other: features nearer than `thickness_m`, the earliest first, every two at most
/// once. `n` is set to their number, at most 65,536; if the buffer is smaller, returns `PALPATE_TOO_SMALL` and as many as
/// fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_self_collisions(
    scene: *mut palpate_scene,
    tissues: *const palpate_interval,
    n_tissues: usize,
    thickness_m: f64,
    within_each: u32,
    contacts: *mut palpate_self_contact,
    capacity: usize,
    n: *mut usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let n = out(n, "n")?;
            *n = 0;
            let scene = read(scene, "scene")?;
            let contacts = buffer(contacts, capacity, "contacts")?;
            at_most(n_tissues, scene.theatre.limits().tissues_per_scene, "n_tissues")?;
            let tissues = array(tissues, n_tissues, "tissues")?;
            if tissues.is_empty() {
                return Err(Failure::argument("n_tissues is 0, expected at least 1".to_owned()));
            }
            if !(0.0..=DISTANCE_MAX_M).contains(&thickness_m) {
                let message =
                    format!("thickness_m is {thickness_m}, expected 0 to {DISTANCE_MAX_M}");
                return Err(Failure::argument(message));
            }
            for (at, sent) in tissues.iter().enumerate() {
                if tissues[..at].iter().any(|other| other.tissue_id == sent.tissue_id) {
                    let message =
                        format!("tissues[{at}] is tissue {}, named before", sent.tissue_id);
                    return Err(Failure::argument(message));
                }
            }
            let known = |revision| (revision != PALPATE_NEWEST).then_some(revision);
            let interval = |sent: &palpate_interval| {
                let to = known(sent.to_revision);
                let from = known(sent.from_revision);
                let tissue = TissueId(sent.tissue_id);
                Interval { tissue, from: from.or(to), to }
            };
            let intervals: Vec<Interval> = tissues.iter().map(interval).collect();
            let options = SelfCollisionOptions {
                thickness_m,
                scope: if within_each == 0 { Scope::All } else { Scope::WithinEach },
                max_contacts: capacity.clamp(1, FEATURE_CONTACTS_MAX),
                max_pairs: CANDIDATE_PAIRS_MAX,
            };
            let (found, n_found) = scene.theatre.self_collisions(&intervals, &options)?;
            *n = n_found.min(FEATURE_CONTACTS_MAX);
            let filled = found.len().min(capacity);
            contacts[..filled].copy_from_slice(&found[..filled]);
            if *n > filled {
                let message = format!("there are {n} contacts, the buffer holds {capacity}");
                return Err(Failure::new(palpate_code::PALPATE_TOO_SMALL, message));
            }
        }
        Ok(())
    })
}
