//! Borders that coincide: of two adjacent tissues, of a UV seam, of a cut that has not opened.
//!
//! Open edges that coincide to the last bit are one edge of one surface. Alone, each of them has a normal cone of half
//! a turn, so that an edge ahead of a sliding tool is a contact with a tilted normal: a wall against which friction
//! wedges the tool. The normal cone of the joined edge is that of the triangles on both sides.

use glam::DVec3;

use super::{
    near_contact::{NearContact, NearTriangles},
    seen_tissues::TissuesInMotion,
};

/// Removes contacts of coincident borders if the joined surface has none there, and all but one of the contacts at the
/// same position of it. `contacts`: sorted by key. `pairs`: every pair as near as they are.
pub(super) fn join(
    contacts: &mut Vec<NearContact>,
    pairs: &[NearTriangles],
    tissues: &TissuesInMotion,
) {
    contacts.retain(|c| ends(c, tissues).is_none_or(|ends| is_minimum(c, &ends, pairs, tissues)));
    // Backwards, so that the contact with the least key stays.
    for i in (1..contacts.len()).rev() {
        let Some([a, b]) = ends(&contacts[i], tissues) else { continue };
        let (of_link, on_link) = (contacts[i].key.link, contacts[i].key.on_link);
        let is_same = |c: &NearContact| {
            (c.key.link, c.key.on_link) == (of_link, on_link)
                && ends(c, tissues).is_some_and(|e| e == [a, b] || e == [b, a])
        };
        if contacts[..i].iter().any(is_same) {
            contacts.remove(i);
        }
    }
}

/// Returns the ends of the tissue's boundary edge that a contact is at, scene frame, or its vertex twice; `None` for a
/// contact elsewhere.
fn ends(contact: &NearContact, tissues: &TissuesInMotion) -> Option<[DVec3; 2]> {
    let [first, second, third] = contact.key.on_tissue;
    if third != u32::MAX {
        return None;
    }
    let second = if second == u32::MAX { first } else { second };
    let view = tissues.view(contact.tissue);
    let boundary = view.surface.boundary();
    let is_open = boundary.has_vertex(first) && boundary.has_vertex(second);
    is_open.then(|| [first, second].map(|v| view.vertex(v)))
}

/// Returns true if no other triangle with the same edge or vertex leads nearer to the link.
fn is_minimum(
    contact: &NearContact,
    ends: &[DVec3; 2],
    pairs: &[NearTriangles],
    tissues: &TissuesInMotion,
) -> bool {
    let leads_away = |corner: &DVec3| {
        let out = *corner - contact.on_tissue;
        contact.normal.dot(out) <= contact.cone_slack * out.length()
    };
    // These triangles are no farther from the link's triangle than the contact is, because they have its point.
    let at_link =
        |p: &&NearTriangles| (p.link, p.link_triangle) == (contact.key.link, contact.link_triangle);
    pairs.iter().filter(at_link).all(|p| {
        let beside = tissues.view(p.tissue);
        let corners = beside.triangle_at(p.tissue_triangle, tissues.time);
        let is_at = ends.iter().all(|end| corners.contains(end));
        !is_at || corners.iter().filter(|corner| !ends.contains(corner)).all(leads_away)
    })
}
