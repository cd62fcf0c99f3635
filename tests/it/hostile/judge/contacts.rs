//! Contacts: each contact that has to exist is reported, and each that is reported is true.

use std::collections::HashSet;

use glam::DVec3;
use palpate::proto::{Contacts, FlagMask, LinkAnswer};

use super::{Broken, Judge, Place, ROUNDING_M, Seen, Soup, has, link::Samples};

/// Maximum number of contacts of an answer that are checked in full.
const LOOKED_AT: usize = 12;

/// A contact, from one index of the parallel arrays.
#[derive(Debug)]
struct Contact {
    tissue: u32,
    triangle: u32,
    on_tissue: DVec3,
    on_tool: DVec3,
    normal: DVec3,
    distance: f64,
    depth_max: Option<f64>,
    is_left_behind: bool,
    is_stand_in: bool,
}

fn contact(all: &Contacts, i: usize) -> Contact {
    let three = |a: &[f32]| DVec3::new(a[3 * i].into(), a[3 * i + 1].into(), a[3 * i + 2].into());
    let distance = f64::from(all.signed_distance_m[i]);
    Contact {
        tissue: all.tissue_ids[i],
        triangle: all.triangle_ids[i],
        on_tissue: three(&all.on_tissue_xyz_m),
        on_tool: three(&all.on_tool_xyz_m),
        normal: three(&all.normal_xyz),
        depth_max: all.depth_max_m.get(i).map(|d| f64::from(*d)),
        is_left_behind: all.toi[i] >= 0.0 && distance == 0.0,
        is_stand_in: all.wholly_inside.get(i).copied().unwrap_or(false),
        distance,
    }
}

impl Judge<'_> {
    pub(super) fn judge_contacts(
        &mut self,
        told: &LinkAnswer,
        flags: u32,
        seen: &[Seen],
        link: &Soup,
        samples: &[Samples],
        about: &str,
    ) {
        let none = Contacts::default();
        let all = told.contacts.as_ref().unwrap_or(&none);
        self.tally.contacts += all.triangle_ids.len();
        let is_truncated = all.total as usize > all.triangle_ids.len();
        let is_flagged = !is_truncated || has(flags, FlagMask::Truncated);
        self.tally.hold(is_flagged, Broken::Missed, || format!("{about}: truncated, unflagged"));
        let given: Vec<Contact> = (0..all.triangle_ids.len()).map(|i| contact(all, i)).collect();
        let ids: HashSet<(u32, u32)> = given.iter().map(|c| (c.tissue, c.triangle)).collect();
        let twice = ids.len() < given.iter().filter(|c| !c.is_stand_in).count();
        self.tally.hold(!twice, Broken::Untrue, || format!("{about}: a triangle twice"));
        if !told.is_cut_short && !is_truncated {
            for (tissue, samples) in seen.iter().zip(samples) {
                self.judge_missing(told, &given, tissue, link, samples, about);
            }
        }
        let step = given.len().div_ceil(LOOKED_AT).max(1);
        let first = self.random.below(step);
        for contact in given.iter().skip(first).step_by(step).filter(|c| !c.is_left_behind) {
            self.judge_contact(contact, told, seen, link, about);
        }
    }

    /// Checks that every triangle of a tissue within the margin of the link, or inside it, is a contact of its depth.
    fn judge_missing(
        &mut self,
        told: &LinkAnswer,
        given: &[Contact],
        tissue: &Seen,
        link: &Soup,
        samples: &Samples,
        about: &str,
    ) {
        let margin = self.report.contact_margin_m;
        let tolerance = self.tool.links[told.link as usize].tolerance_m;
        for (id, triangle) in &tissue.soup.triangles {
            let gap = link.gap(triangle, margin - ROUNDING_M);
            let [a, b, c] = *triangle;
            // Only a triangle that crosses nothing can be inside without being near.
            let is_beside =
                gap.is_finite() || triangle.iter().all(|p| link.bounds.distance(*p) > 0.0);
            let depth = if is_beside {
                0.0
            } else {
                Place::of(self.weighed(a, b, c), link).depth(link.is_closed)
            };
            if gap.is_infinite() && depth == 0.0 {
                continue;
            }
            self.tally.contacts_due += 1;
            let truth = if depth > 0.0 { -depth } else { gap };
            let found = given.iter().find(|c| (c.tissue, c.triangle) == (tissue.id, *id));
            // A search may break off at an open end; the answer then reports how deep contacts that it did not find may
            // be.
            let is_told = |most: f64| gap.is_infinite() && -truth <= most + ROUNDING_M;
            if found.is_none() && told.depth_max_m.is_some_and(is_told) {
                continue;
            }
            let Some(found) = found else {
                let what = format!(
                    "{about}: no contact of {id} of {}, {truth} away, told {} and at most {:?}",
                    tissue.id, told.signed_distance_m, told.depth_max_m
                );
                self.tally.find(Broken::Missed, what);
                continue;
            };
            let most = found.depth_max.unwrap_or(0.0).max(-found.distance + 2.0 * tolerance);
            let is_as_near = found.is_left_behind || -truth <= most + ROUNDING_M;
            self.tally.hold(is_as_near, Broken::Depth, || {
                format!("{about}: {} of {id}, in truth {truth}", found.distance)
            });
        }
        if samples.vertex_depth > 0.0 {
            let is_told = given.iter().any(|c| c.tissue == tissue.id && !c.is_left_behind);
            self.tally.hold(is_told, Broken::Missed, || {
                format!("{about}: no contact of {}, {} deep in it", tissue.id, samples.vertex_depth)
            });
        }
    }

    /// Checks that a contact is where the answer says.
    fn judge_contact(
        &mut self,
        c: &Contact,
        told: &LinkAnswer,
        seen: &[Seen],
        link: &Soup,
        about: &str,
    ) {
        let Some(tissue) = seen.iter().find(|s| s.id == c.tissue) else {
            return self.tally.find(Broken::Untrue, format!("{about}: contact of no tissue"));
        };
        let along = (c.on_tool - c.on_tissue).distance(c.normal * c.distance);
        let on_triangle = tissue.soup.get(c.triangle).map_or(f64::INFINITY, |t| {
            c.on_tissue.distance(palpate::oracle::triangle::closest_on_triangle(c.on_tissue, t))
        });
        let is_unit = (c.normal.length() - 1.0).abs() < 1e-6;
        let on_tool = link.distance(c.on_tool);
        let is_placed =
            along <= ROUNDING_M && on_triangle <= ROUNDING_M && on_tool <= ROUNDING_M && is_unit;
        self.tally.hold(is_placed, Broken::Untrue, || {
            format!("{about}: contact {along}, {on_triangle}, {on_tool} off, normal {}", c.normal)
        });
        // A stand-in is a vertex of the link; every other contact is a point of the tissue.
        let (p, other) =
            if c.is_stand_in { (c.on_tool, &*tissue.soup) } else { (c.on_tissue, link) };
        let place = Place::of(p, other);
        let is_as_far = (place.distance - c.distance.abs()).abs() <= ROUNDING_M;
        self.tally
            .hold(is_as_far, Broken::Distance, || format!("{about}: {c:?}, in truth {place:?}"));
        let certainty = if c.is_stand_in { told.sign_certainty } else { 1.0 };
        let is_right =
            place.is_in_doubt(other.is_closed) || place.is_inside() == (c.distance < 0.0);
        self.tally.hold(is_right || certainty < 0.5, Broken::Sign, || {
            format!("{about}: contact at {}, {place:?}", c.distance)
        });
        let tolerance = self.tool.links[told.link as usize].tolerance_m;
        let is_due = c.distance <= self.report.contact_margin_m + tolerance + ROUNDING_M;
        self.tally.hold(is_due, Broken::Untrue, || format!("{about}: contact {} away", c.distance));
    }
}
