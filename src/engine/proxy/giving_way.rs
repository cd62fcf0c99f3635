//! Lets tissues give way that close in on a proxy and leave it no feasible pose.
//!
//! If the contacts of moving tissues contradict each other, no pose of the proxy is feasible. The proxy goes to the
//! pose of least violation, between them. The tissues, as the proxy sees them, give way by as much as that takes, and
//! no more: so every side stays a side, continuous collision continues to hold the proxy on it, and tissue that opens
//! again lets the proxy out where it came from. A tissue that gives way is followed again in each tick, from where it
//! was seen.

use glam::DVec3;

use super::{
    giving_place::Push,
    god_object::{GodObject, TickTissues, scaled},
    near::SearchEnd,
    near_contact::NearContact,
    seen_tissues::{SeenTissue, TissuesInMotion, embed_wholly, stand_all, stay_all_at},
};
use crate::coupling::{extent::Extent, quadratic_programme::COORDINATES_MAX};
use crate::geometry::{Aabb, tolerance::PROXY_AT_REST_M};
use crate::time_left::TimeLeft;

/// Maximum rounds that follow tissues which leave no feasible pose: a way of 100 mm takes that many.
const ROUNDS_MAX: usize = 128;
/// Maximum rounds that complete their step; the next round is nearer to the least violation.
const ARRIVALS_MAX: usize = 4;
/// Rounds without progress after which tissue is as near as it gets.
const STALLS_MAX: usize = 3;

impl GodObject {
    /// Follows the tissues from a time of their motion on, to positions that leave as much room as the proxy needs.
    /// Returns false past the deadline: the tissues are then seen as far as they were followed.
    pub(super) fn give_way(
        &mut self,
        (tissues, time): (TickTissues, f64),
        seen: &mut [SeenTissue],
        deadline: &TimeLeft,
    ) -> bool {
        stay_all_at(seen, tissues, time);
        self.last_round.forget();
        let (mut arrivals, mut stalls) = (0, 0);
        for _ in 0..ROUNDS_MAX {
            for (seen, (_, revision)) in seen.iter_mut().zip(tissues) {
                seen.aim_at_newest(revision);
            }
            let motion = TissuesInMotion { tissues, seen, time: 0.0 };
            let wanted = motion.displacement_max();
            let wanted = wanted.min(self.margins.top_m).max(self.margins.min_m);
            self.margin_m = wanted.min(self.margins.late_m);
            match self.search(&motion, deadline) {
                SearchEnd::Complete => (),
                SearchEnd::Full if embed_wholly(seen) => continue,
                SearchEnd::OutOfTime => return false,
                SearchEnd::Full => {
                    self.search.list.forget();
                    return false;
                }
            }
            if self.embed_crossing(seen) {
                continue;
            }
            let motion = TissuesInMotion { tissues, seen, time: 0.0 };
            let x = self.solve_round(&[0.0; COORDINATES_MAX], &motion, 1.0);
            self.last_round.note(&x, (&self.contacts, &self.forces));
            self.squeezed_m = self.residual_m;
            self.note_pushes(&x, &motion);
            self.aim_beside(tissues, seen);
            let motion = TissuesInMotion { tissues, seen, time: 0.0 };
            let displacement = motion.displacement_max();
            let extent = self.extent(&x);
            let together = Extent { length_m: extent.length_m + displacement, ..extent };
            if together.length_m <= PROXY_AT_REST_M {
                break;
            }
            let limit = together.share_within(self.step_max_m());
            let gone = limit * self.go(&motion, (&scaled(&x, limit), limit), None, &x, deadline);
            stay_all_at(seen, tissues, gone);
            if gone < 1.0 {
                // Positions on the way are rounded.
                self.search.list.forget();
            }
            self.search.list.note_travel(displacement * gone);
            arrivals += usize::from(gone == 1.0);
            stalls = if gone * together.length_m > PROXY_AT_REST_M { 0 } else { stalls + 1 };
            if arrivals == ARRIVALS_MAX || stalls == STALLS_MAX {
                break;
            }
        }
        stand_all(seen, tissues);
        true
    }

    /// Returns a contact's point on the newest revision, on which loads act, and its gap, below 0 if the tissue gives
    /// way.
    pub(super) fn gap_to_newest(
        &self,
        contact: &NearContact,
        (tissues, seen): (TickTissues, &[SeenTissue]),
    ) -> (DVec3, f64) {
        if !seen[contact.tissue].gives_way() {
            return (contact.on_tissue, contact.gap_m);
        }
        let [a, b, c] = tissues[contact.tissue].1.surface.mesh().triangle(contact.tissue_triangle);
        let w = contact.tissue_weights;
        let newest = a * w.x + b * w.y + c * w.z;
        (newest, contact.gap_m + contact.normal.dot(contact.on_tissue - newest))
    }

    /// Computes how far each contact has to push its tissue, with the proxy moved by `x`.
    fn note_pushes(&mut self, x: &[f64; COORDINATES_MAX], motion: &TissuesInMotion) {
        let is_violated = self.residual_m > PROXY_AT_REST_M;
        let each = self.contacts.iter().zip(&self.rows).map(|(contact, row)| {
            let along = row.jacobian.iter().zip(x).map(|(j, x)| j * x).sum::<f64>();
            let missing_m = -(row.gap + along);
            // A little more, so that rows do not contradict each other by rounding.
            let needs_more = is_violated && missing_m > 0.0;
            Push {
                tissue: contact.tissue,
                triangle: contact.tissue_triangle,
                weights: contact.tissue_weights,
                at: contact.on_tissue_at(motion, 1.0),
                normal: contact.normal,
                depth_m: if needs_more { missing_m + PROXY_AT_REST_M } else { 0.0 },
            }
        });
        self.pushes.clear();
        self.pushes.extend(each);
        self.pushes.sort_unstable_by_key(|p| (p.tissue, p.triangle));
    }

    /// Aims every tissue that moves or is pushed at positions that leave the proxy its room.
    fn aim_beside(&self, tissues: TickTissues, seen: &mut [SeenTissue]) {
        let bounds = self.constrained().iter().map(|&number| {
            let link = &self.tool.links[number];
            self.posture.scene_from_link(number).aabb(link.surface.bounds())
        });
        let bounds = bounds.reduce(|a, b| a.union(&b)).unwrap_or(Aabb::EMPTY);
        let about = bounds.grown(self.margin_m + self.squeezed_m);
        for (place, (seen, (_, revision))) in seen.iter_mut().zip(tissues).enumerate() {
            let first = self.pushes.partition_point(|p| p.tissue < place);
            let end = self.pushes.partition_point(|p| p.tissue <= place);
            let own = &self.pushes[first..end];
            if own.iter().any(|p| p.depth_m > 0.0) {
                let near = self.search.pairs.iter().filter(|p| p.tissue == place);
                seen.aim_beside_newest(revision, own, &about, near.map(|p| p.tissue_triangle));
            }
        }
    }
}
