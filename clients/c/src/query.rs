//! Questions to a scene without a session: distances of points, contacts of a posed tool.

use glam::DVec3;
use palpate::scene::limits::QUERY_POINTS_MAX;

use crate::{
    backend::PosedTool,
    border::{array, at_most, buffer, call, out, read},
    code::{Failure, palpate_code},
    growing,
    plain::{
        palpate_contact_query, palpate_link_distance, palpate_surface_contact,
        palpate_surface_point, palpate_vec3,
    },
    scene::palpate_scene,
    session::fill,
};

/// Signed distances of up to 65,536 points to a tissue, or to the nearest one if `tissue_id` is 0. Negative inside,
/// infinite without tissue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_distances(
    scene: *mut palpate_scene,
    tissue_id: u32,
    points: *const palpate_vec3,
    distances_m: *mut f64,
    n_points: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let points = queried(points, n_points)?;
            let distances_m = buffer(distances_m, n_points, "distances_m")?;
            for (into, found) in distances_m.iter_mut().zip(scene.nearest(tissue_id, points)?) {
                *into = found.signed_distance_m;
            }
        }
        Ok(())
    })
}

/// Finds the point of a tissue that is nearest to each of up to 65,536 points, or of all tissues if `tissue_id` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_nearest(
    scene: *mut palpate_scene,
    tissue_id: u32,
    points: *const palpate_vec3,
    nearest: *mut palpate_surface_point,
    n_points: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let points = queried(points, n_points)?;
            let nearest = buffer(nearest, n_points, "nearest")?;
            nearest.copy_from_slice(&scene.nearest(tissue_id, points)?);
        }
        Ok(())
    })
}

/// # Safety
/// NULL, or `n` points.
unsafe fn queried<'a>(
    points: *const palpate_vec3,
    n: usize,
) -> Result<&'a [palpate_vec3], Failure> {
    at_most(n, QUERY_POINTS_MAX, "n_points")?;
    // SAFETY: guaranteed by the caller.
    unsafe { array(points, n, "points") }
}

impl palpate_scene {
    /// Returns as many points as there are queried.
    fn nearest(
        &self,
        tissue_id: u32,
        points: &[palpate_vec3],
    ) -> Result<Vec<palpate_surface_point>, Failure> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let queried: Vec<DVec3> = points.iter().map(|p| p.glam()).collect();
        let tissue = (tissue_id != 0).then_some(tissue_id);
        let found = self.theatre.nearest(tissue, &queried)?;
        let (got, expected) = (found.len(), points.len());
        let message = || format!("there are {got} distances, expected {expected}");
        let wrong = || Failure::new(palpate_code::PALPATE_INTERNAL, message());
        if got == expected { Ok(found) } else { Err(wrong()) }
    }
}

/// Finds the contacts of a tool at a pose, and the distance of each of its links from the nearest tissue, without a
/// session. Contacts are as in `palpate_surface_contacts`, none swept; `n` is set to their number, and if the buffer is
/// smaller, returns `PALPATE_TOO_SMALL` and as many as fit. `distances` is NULL, with `n_distances` 0, or has space for
/// one for each link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_query_contacts(
    scene: *mut palpate_scene,
    query: *const palpate_contact_query,
    contacts: *mut palpate_surface_contact,
    capacity: usize,
    n: *mut usize,
    distances: *mut palpate_link_distance,
    n_distances: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let n = out(n, "n")?;
            *n = 0;
            let scene = read(scene, "scene")?;
            let query = growing::read(query, "query")?;
            let contacts = buffer(contacts, capacity, "contacts")?;
            let distances = buffer(distances, n_distances, "distances")?;
            let limits = scene.theatre.limits();
            at_most(query.n_links, limits.links_per_tool, "query.n_links")?;
            let links = array(query.links, query.n_links, "query.links")?;
            let found = scene.theatre.contacts(&PosedTool {
                tool: query.tool_id,
                pose: query.pose.pose("query.pose")?,
                links: links
                    .iter()
                    .map(|link| link.pose("query.links"))
                    .collect::<Result<_, Failure>>()?,
                contact_margin_m: query.contact_margin_m,
            })?;
            let expected = found.links.len();
            if n_distances != 0 && n_distances != expected {
                let message = format!("n_distances is {n_distances}, expected {expected}");
                return Err(Failure::argument(message));
            }
            *n = found.contacts.len();
            distances.copy_from_slice(&found.links[..n_distances]);
            fill(contacts, &found.contacts)
        }
    })
}
