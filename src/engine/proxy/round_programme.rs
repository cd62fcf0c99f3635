//! The programme of a round: contacts become rows, and its optimum gives the proxy's displacement and the contacts'
//! forces.

use super::{
    contact_memory::FrictionAnchor,
    god_object::GodObject,
    near_contact::{NearContact, ProxyForce},
    rows::RowFrame,
    seen_tissues::TissuesInMotion,
    shading::Shaded,
};
use crate::coupling::{
    contact_law::ContactLaw,
    friction::{FrictionRows, with_friction},
    posture::FIRST_LINK,
    quadratic_programme::{ConstraintRow, Displacement, Optimum, Programme},
};
use crate::geometry::tolerance::{CONE_SHARE_SLACK, STAND_OFF_M};

/// Maximum motion of a point of the proxy pushed by tissue, as a multiple of the violation of the rows.
const LEVER_MAX: f64 = 16.0;

impl GodObject {
    /// Runs [`GodObject::solve`] for one of several rounds, with the contacts that held the last one if still needed.
    pub(super) fn solve_round(
        &mut self,
        x_d: &Displacement,
        motion: &TissuesInMotion,
        time_end: f64,
    ) -> Displacement {
        let x = self.solve(x_d, motion, time_end);
        let GodObject { last_round, stiffness, contacts, .. } = self;
        if last_round.holds_more(&x, stiffness, motion, contacts) {
            self.solve(x_d, motion, time_end)
        } else {
            x
        }
    }

    /// Computes the displacement of least spring energy about `x_d` and its forces. Tissues move on to `time_end`.
    pub(super) fn solve(
        &mut self,
        x_d: &Displacement,
        motion: &TissuesInMotion,
        time_end: f64,
    ) -> Displacement {
        let held = self.posture.scene_from_tool.point(self.hold);
        let frame = RowFrame { posture: &self.posture, held, screws: &self.screws };
        // The force of a proxy that only follows tissue is not felt: its contacts need no smooth directions.
        let is_drawn = motion.time == 1.0 && x_d.iter().any(|x| *x != 0.0);
        let shading_rad = if is_drawn { self.force_shading_rad } else { 0.0 };
        let shaded = |c: &NearContact| Shaded::of(c, &motion.view(c.tissue), shading_rad);
        self.shaded.clear();
        self.shaded.extend(self.contacts.iter().map(shaded));
        let law = |c: &NearContact| {
            let revision = &motion.tissues[c.tissue].1;
            revision.contact_law(c.tissue_triangle, c.tissue_weights, self.friction)
        };
        self.laws.clear();
        if motion.tissues.iter().any(|(_, revision)| revision.feel.is_some()) {
            self.laws.extend(self.contacts.iter().map(law));
        }
        self.rows.clear();
        self.likely.clear();
        for (i, (c, shaded)) in self.contacts.iter().zip(&self.shaded).enumerate() {
            let jacobian = frame.jacobian(c, shaded.normal);
            // Motion of the tissue towards the tool reduces the gap.
            let approach = c.approach(motion, time_end);
            let gap = frame.gap(c) - STAND_OFF_M - approach - shaded.height_m;
            self.rows.push(ConstraintRow { jacobian, gap });
            if self.active.contains(&c.key) {
                self.likely.push(i);
            }
        }
        let links = self.screws.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let n = FIRST_LINK + links;
        let programme = Programme { n, stiffness: self.stiffness, desired: *x_d, rows: &self.rows };
        let mut optimum = programme.solve(&self.likely);
        // Nearly contradictory rows hold only with a rotation to which no first order applies.
        let worst_m = self.rows.iter().fold(0.0, |worst: f64, row| worst.max(-row.gap));
        let extent_m = self.extent(&optimum.displacement).length_m;
        if x_d.iter().all(|x| *x == 0.0) && extent_m > LEVER_MAX * worst_m {
            optimum = programme.solve_loosened(&self.likely);
        }
        self.residual_m = optimum.residual_m;
        // Contradictory rows have tangential forces without meaning.
        let x = if self.has_friction() && optimum.residual_m == 0.0 && motion.time == 1.0 {
            self.rub(n, x_d, motion, &optimum)
        } else {
            self.forces.clear();
            let each = self.shaded.iter().map(|s| s.normal).zip(optimum.multipliers);
            self.forces.extend(
                each.map(|(along, normal_n)| ProxyForce { normal_n, force: along * normal_n }),
            );
            optimum.displacement
        };
        if shading_rad == 0.0 { x } else { self.hold_back(n, &x) }
    }

    /// Computes the displacement nearest to that of smooth directions that the contacts' own normals allow.
    fn hold_back(&mut self, n: usize, desired: &Displacement) -> Displacement {
        let held = self.posture.scene_from_tool.point(self.hold);
        let frame = RowFrame { posture: &self.posture, held, screws: &self.screws };
        self.own_rows.clear();
        let rows = self.rows.iter().zip(&self.contacts).zip(&self.shaded);
        self.own_rows.extend(rows.map(|((row, c), shaded)| ConstraintRow {
            jacobian: frame.jacobian(c, c.normal),
            gap: row.gap + shaded.height_m,
        }));
        let programme =
            Programme { n, stiffness: self.stiffness, desired: *desired, rows: &self.own_rows };
        programme.solve(&self.likely).displacement
    }

    /// Adds friction to [`GodObject::solve`]: contacts keep their anchors as far as their cones allow.
    fn rub(
        &mut self,
        n: usize,
        x_d: &Displacement,
        motion: &TissuesInMotion,
        optimum: &Optimum,
    ) -> Displacement {
        let held = self.posture.scene_from_tool.point(self.hold);
        let frame = RowFrame { posture: &self.posture, held, screws: &self.screws };
        self.friction_rows.clear();
        self.anchors_next.clear();
        for (i, (c, shaded)) in self.contacts.iter().zip(&self.shaded).enumerate() {
            let known = self.anchors.iter().find(|(key, _)| *key == c.key);
            let mesh = motion.tissues[c.tissue].1.surface.mesh();
            let is_there = |a: &FrictionAnchor| mesh.get(a.tissue_triangle).is_some();
            let known = known.map(|(_, anchor)| *anchor).filter(is_there);
            let anchor = known.unwrap_or_else(|| FrictionAnchor::at(c));
            let [p, q, r] = motion.view(c.tissue).triangle_at(anchor.tissue_triangle, 1.0);
            let w = anchor.tissue_weights;
            let on_link = self.posture.scene_from_link(c.key.link).point(anchor.of_link);
            let slip = on_link - (p * w.x + q * w.y + r * w.z);
            let (first, second) = shaded.normal.any_orthonormal_pair();
            let tangents = [first, second].map(|along| ConstraintRow {
                jacobian: frame.jacobian(c, along),
                gap: slip.dot(along),
            });
            let law = self.laws.get(i).copied().flatten();
            let friction = law.unwrap_or(ContactLaw::rigid(self.friction)).friction;
            let slip_m_s = || self.speed.along_two(&tangents.map(|row| row.jacobian));
            let sticks = known.is_some();
            let coefficient =
                if sticks { friction.sticking } else { friction.slipping_at(slip_m_s()) };
            self.friction_rows.push(FrictionRows { tangents, coefficient });
            self.anchors_next.push((c.key, anchor));
        }
        let coupling = (n, &self.stiffness, x_d);
        let friction = |i: usize| self.friction_rows[i];
        let found = with_friction(coupling, &self.rows, friction, optimum);
        self.forces.clear();
        self.anchors.clear();
        for (i, shaded) in self.shaded.iter().enumerate() {
            let (first, second) = shaded.normal.any_orthonormal_pair();
            let [f, g] = found.tangent[i];
            let normal_n = found.normal[i];
            let force = shaded.normal * normal_n + first * f + second * g;
            self.forces.push(ProxyForce { normal_n, force });
            // A slipping contact loses its anchor: the next round anchors it where it is then.
            let most = self.friction_rows[i].coefficient * normal_n * (1.0 - CONE_SHARE_SLACK);
            // Squares of forces are far from overflow: no `hypot`, whose last bit depends on the C library.
            if normal_n > 0.0 && (f * f + g * g).sqrt() < most {
                self.anchors.push(self.anchors_next[i]);
            }
        }
        found.displacement
    }
}
