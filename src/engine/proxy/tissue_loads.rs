//! Contact forces spread over the vertices of the tissues that bear them.

use glam::DVec3;

use super::rendering::{ProxyContact, TissueLoad};
use crate::coupling::quadratic_programme::ROWS_MAX;
use crate::scene::{
    RevisionGuard, TissueId,
    tissue::driven::{ControlLoad, Driven},
};

/// The loads of one tick, with buffers for the next.
#[derive(Debug)]
pub(super) struct LoadRoom {
    spread: Vec<(TissueId, u32, DVec3)>,
    /// Grows when a driven tissue is first met: most loops meet none.
    on_controls: Vec<ControlLoad>,
    spare: Vec<TissueLoad>,
}

impl LoadRoom {
    /// Allocates for the contacts of a programme.
    pub(super) fn new() -> LoadRoom {
        LoadRoom {
            spread: Vec::with_capacity(3 * ROWS_MAX),
            on_controls: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Fills `loads` with minus the force of each contact at its triangle's vertices, by the weights of its point:
    /// force and moment are those of the contact. `weights`: weights of each contact. Forbidden regions carry no load.
    pub(super) fn fill(
        &mut self,
        contacts: &[ProxyContact],
        weights: &[DVec3],
        tissues: &[(TissueId, RevisionGuard)],
        loads: &mut Vec<TissueLoad>,
    ) {
        debug_assert_eq!(contacts.len(), weights.len(), "weights for each contact");
        self.spare.append(loads);
        self.spread.clear();
        for (contact, weights) in contacts.iter().zip(weights) {
            let revision = tissues.iter().find(|(id, _)| *id == contact.tissue);
            let Some((id, revision)) = revision else { continue };
            if contact.force_n == DVec3::ZERO || contact.is_forbidden {
                continue;
            }
            // A contact that outlived its triangle, on a late tick, has no vertices to carry its load.
            let Some(vertices) = revision.surface.mesh().get(contact.triangle) else { continue };
            for (v, w) in vertices.into_iter().zip(weights.to_array()) {
                if w > 0.0 {
                    self.spread.push((*id, v, -contact.force_n * w));
                }
            }
        }
        self.spread.sort_unstable_by_key(|(id, v, _)| (*id, *v));
        for &(id, v, force) in &self.spread {
            if loads.last().is_none_or(|l| l.tissue != id) {
                let mut load = self.spare.pop().unwrap_or_else(|| TissueLoad {
                    tissue: id,
                    geometry_revision: 0,
                    vertices: Vec::with_capacity(3 * ROWS_MAX),
                    forces_n: Vec::with_capacity(3 * ROWS_MAX),
                    controls: Vec::new(),
                    are_frames: false,
                });
                let revision = tissues.iter().find(|(other, _)| *other == id);
                load.tissue = id;
                load.geometry_revision = revision.map_or(0, |(_, r)| r.geometry_revision);
                load.vertices.clear();
                load.forces_n.clear();
                loads.push(load);
            }
            let load = loads.last_mut().expect("one was pushed");
            if load.vertices.last() == Some(&v) {
                *load.forces_n.last_mut().expect("a force a vertex") += force;
            } else {
                load.vertices.push(v);
                load.forces_n.push(force);
            }
        }
        for load in loads {
            load.controls.clear();
            load.are_frames = false;
            let revision = tissues.iter().find(|(id, _)| *id == load.tissue);
            if let Some(driven) = revision.and_then(|(_, revision)| revision.driven.as_deref()) {
                self.spread_over_controls(driven, load);
            }
        }
    }

    /// Spreads the forces on vertices over the controls that carry them.
    fn spread_over_controls(&mut self, driven: &Driven, load: &mut TissueLoad) {
        load.are_frames = driven.controls.are_frames();
        self.on_controls.clear();
        for (v, force) in load.vertices.iter().zip(&load.forces_n) {
            driven.add_loads(*v, *force, &mut self.on_controls);
        }
        self.on_controls.sort_unstable_by_key(|one| one.control);
        for one in &self.on_controls {
            match load.controls.last_mut().filter(|last| last.control == one.control) {
                Some(last) => {
                    last.force_n += one.force_n;
                    last.torque_nm += one.torque_nm;
                }
                None => load.controls.push(*one),
            }
        }
    }
}
