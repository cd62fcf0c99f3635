//! The contacts about a proxy as planes, which a device renders without a round trip.
//!
//! Adachi, Kumano, Ogino, "Intermediate representation for stiff virtual objects", VRAIS 1995; linearised contacts:
//! Otaduy and Lin, "A modular haptic rendering algorithm for stable and transparent 6-DOF manipulation", 2006.
//! Difference here: the model says how far it holds, and how wrong each of its rows may be there.

use glam::DVec3;

use super::{
    contact_law::{ContactLaw, Friction},
    extent::Extent,
    posture::{FIRST_LINK, LinkScrews, Posture, RENDERED_LINKS_MAX},
    quadratic_programme::{COORDINATES_MAX, Displacement, ROWS_MAX},
};
use crate::geometry::tolerance::{CONTACT_SLACK, COORDINATE_MAX_M};

/// A contact near the proxy as a plane, scene frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalRow {
    /// Id of the proxy's contact, constant while the contact lasts. [`LocalRow::OF_NO_CONTACT`]: the plane keeps two
    /// triangles apart that no contact's plane does. It has no friction.
    pub contact_id: u64,
    /// Tissue of the contact.
    pub tissue: u32,
    /// Index of the link in the tool, from 0.
    pub link: usize,
    /// Point of the link at the reference posture, metres.
    pub on_tool: DVec3,
    /// Unit vector from tissue to tool.
    pub normal: DVec3,
    /// Gap of that point over the plane, metres.
    pub gap_m: f64,
    /// Velocity of the tissue along the normal, m/s; positive if it comes nearer.
    pub normal_velocity_m_s: f64,
    /// Greatest error of the gap within the radius in which the model is complete, metres, >= 0.
    pub gap_error_m: f64,
    /// Law of the contact, if its tissue has one; `None`: rigid, with the model's friction.
    pub law: Option<ContactLaw>,
}

impl LocalRow {
    /// Id of a plane without a contact. Contacts have ids from 1 on.
    pub const OF_NO_CONTACT: u64 = 0;

    const EMPTY: LocalRow = LocalRow {
        contact_id: 0,
        tissue: 0,
        link: 0,
        on_tool: DVec3::ZERO,
        normal: DVec3::Z,
        gap_m: 0.0,
        normal_velocity_m_s: 0.0,
        gap_error_m: 0.0,
        law: None,
    };
}

/// The contacts about a proxy, and the radius within which they are complete. Scene frame.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalModel {
    /// Tool of the model.
    pub tool: u32,
    /// Sequence of the tick that the model answers.
    pub sequence: u64,
    /// Time at which the server began to answer that tick, nanoseconds of its own monotonic clock.
    pub server_time_ns: u64,
    /// Reference: posture of the proxy, from which displacements count.
    pub reference: Posture,
    /// Motion of each link with its coordinate; `None` if the link has not been moved yet.
    pub screws: LinkScrews,
    /// Point at which the device holds the tool, tool frame, metres.
    pub hold_m: DVec3,
    /// Upper bound of the distance of the tool's points from its hold point, metres, >= 0.
    pub reach_m: f64,
    /// Radius of completeness, metres: while no point of the tool is moved farther than this, less what the tissues
    /// move, whatever the tool would touch violates a row, to within the row's error.
    pub complete_radius_m: f64,
    /// Upper bound of the speed of tissue about the proxy, m/s.
    pub tissue_speed_m_s: f64,
    /// Age beyond which the model is not to be used, seconds.
    pub expires_s: f64,
    /// Coulomb's friction coefficient, 0 to 2.
    pub friction: f64,
    /// Rows of the contacts.
    pub rows: LocalRows,
}

/// Up to [`ROWS_MAX`] rows, stored inline.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalRows {
    each: [LocalRow; ROWS_MAX],
    n: usize,
}

/// Errors of an invalid model.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A number out of its range, NaN included.
    #[error("{what} is {got}, expected {least} to {most}")]
    Range {
        /// Name of the number.
        what: &'static str,
        /// Given value.
        got: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        most: f64,
    },
    /// An invalid rotation, or a position out of range.
    #[error("{what} is no pose")]
    Pose {
        /// Name of the pose.
        what: &'static str,
    },
    /// More rows than a programme may have.
    #[error("there are {got} rows, expected at most {limit}")]
    Rows {
        /// Number of rows given.
        got: usize,
        /// [`ROWS_MAX`].
        limit: usize,
    },
    /// A row of a link that no tool has.
    #[error("a row is of link {got}, expected less than {limit}")]
    Link {
        /// Given link.
        got: usize,
        /// [`RENDERED_LINKS_MAX`].
        limit: usize,
    },
}

impl LocalModel {
    /// Model that knows of nothing, not even of free space.
    pub const EMPTY: LocalModel = LocalModel {
        tool: 0,
        sequence: 0,
        server_time_ns: 0,
        reference: Posture::AT_ORIGIN,
        screws: [None; RENDERED_LINKS_MAX],
        hold_m: DVec3::ZERO,
        reach_m: 0.0,
        complete_radius_m: 0.0,
        tissue_speed_m_s: 0.0,
        expires_s: 0.0,
        friction: 0.0,
        rows: LocalRows { each: [LocalRow::EMPTY; ROWS_MAX], n: 0 },
    };

    /// Returns the rows of the contacts.
    pub fn rows(&self) -> &[LocalRow] {
        &self.rows.each[..self.rows.n]
    }

    /// Returns the rows of the contacts for modification.
    pub fn rows_mut(&mut self) -> &mut [LocalRow] {
        &mut self.rows.each[..self.rows.n]
    }

    /// Extends the radius of completeness to `radius_m`, within which nothing else is known to be.
    pub fn widen(&mut self, radius_m: f64) {
        if radius_m > self.complete_radius_m {
            self.complete_radius_m = radius_m;
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows.n = 0;
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// Returns an error if there are [`ROWS_MAX`] rows already.
    pub fn push(&mut self, row: LocalRow) -> Result<(), ModelError> {
        let Some(free) = self.rows.each.get_mut(self.rows.n) else {
            return Err(ModelError::Rows { got: ROWS_MAX + 1, limit: ROWS_MAX });
        };
        *free = row;
        self.rows.n += 1;
        Ok(())
    }

    /// Returns the motion of a row's point of the link along a direction per unit of each coordinate.
    pub fn jacobian(&self, row: &LocalRow, along: DVec3) -> Displacement {
        let held = self.reference.scene_from_tool.point(self.hold_m);
        // Equal to the proxy's own rows: J = [n, (c - x_0) x n, n . velocity of the link at c].
        let mut jacobian = [0.0; COORDINATES_MAX];
        jacobian[..3].copy_from_slice(&along.to_array());
        let moment = (row.on_tool - held).cross(along);
        jacobian[3..FIRST_LINK].copy_from_slice(&moment.to_array());
        jacobian[FIRST_LINK + row.link] = along.dot(self.link_velocity(row));
        jacobian
    }

    /// Returns the position of a row's point of the link after a displacement, to first order.
    pub fn point_after(&self, row: &LocalRow, x: &Displacement) -> DVec3 {
        let held = self.reference.scene_from_tool.point(self.hold_m);
        let (shift, turn) = (DVec3::new(x[0], x[1], x[2]), DVec3::new(x[3], x[4], x[5]));
        let lag = x[FIRST_LINK + row.link];
        row.on_tool + shift + turn.cross(row.on_tool - held) + self.link_velocity(row) * lag
    }

    /// Returns the gap of a row after a displacement, `age_s` seconds later: g + J x - v t.
    pub fn gap_after(&self, row: &LocalRow, x: &Displacement, age_s: f64) -> f64 {
        let moved = self.point_after(row, x) - row.on_tool;
        row.gap_m + row.normal.dot(moved) - row.normal_velocity_m_s * age_s
    }

    /// Returns the extent of a displacement for the tool's points.
    pub fn extent(&self, x: &Displacement) -> Extent {
        Extent::of(x, &self.screws, self.reach_m)
    }

    /// Returns the law of a row's contact.
    pub fn law(&self, row: &LocalRow) -> ContactLaw {
        let is_contact = row.contact_id != LocalRow::OF_NO_CONTACT;
        let friction = if is_contact { self.friction } else { 0.0 };
        let law = row.law.unwrap_or(ContactLaw::rigid(friction));
        // A plane of no contact has no anchor that friction could hold.
        ContactLaw { friction: if is_contact { law.friction } else { Friction::NONE }, ..law }
    }

    /// Returns true if a row has friction.
    pub fn has_friction(&self) -> bool {
        self.rows().iter().any(|row| self.law(row).friction.sticking > 0.0)
    }

    /// Returns true if each row bears the force of a rigid contact.
    pub fn is_rigid(&self) -> bool {
        self.rows().iter().all(|row| row.law.is_none_or(|law| law.is_rigid()))
    }

    /// Returns how far the tool may go `age_s` seconds later, metres; negative if not even the reference holds any
    /// more.
    pub fn radius_after(&self, age_s: f64) -> f64 {
        self.complete_radius_m - self.tissue_speed_m_s * age_s
    }

    /// Velocity of a row's point per unit of the link's coordinate, metres, scene frame.
    fn link_velocity(&self, row: &LocalRow) -> DVec3 {
        let scene_from_tool = &self.reference.scene_from_tool;
        self.screws[row.link].map_or(DVec3::ZERO, |screw| {
            let in_tool = scene_from_tool.inverse().point(row.on_tool);
            scene_from_tool.vector(screw.velocity(in_tool))
        })
    }

    /// # Errors
    /// Returns an error for the first number out of range: a client trusts no number that moves a hand.
    pub fn check(&self) -> Result<(), ModelError> {
        let far = COORDINATE_MAX_M;
        for (what, got, [least, most]) in [
            ("reach_m", self.reach_m, [0.0, 2.0 * far]),
            ("complete_radius_m", self.complete_radius_m, [0.0, 4.0 * far]),
            ("tissue_speed_m_s", self.tissue_speed_m_s, [0.0, far]),
            ("expires_s", self.expires_s, [0.0, EXPIRES_S_MAX]),
            ("friction", self.friction, [0.0, 2.0]),
            ("hold_m", self.hold_m.length(), [0.0, 2.0 * far]),
        ] {
            within(what, got, least, most)?;
        }
        if !self.reference.is_rigid() {
            return Err(ModelError::Pose { what: "reference" });
        }
        for screw in self.screws.iter().flatten() {
            let size = screw.turn.abs().max(screw.along.abs()).max_element();
            // A screw that moves nothing is invalid: motions along it could not be measured.
            let least = f64::MIN_POSITIVE.sqrt();
            let size =
                if screw.turn.is_finite() && screw.along.is_finite() { size } else { f64::NAN };
            within("link_screws", size, least, SCREW_MAX)?;
        }
        self.rows().iter().try_for_each(LocalRow::check)
    }
}

impl LocalRow {
    fn check(&self) -> Result<(), ModelError> {
        let far = COORDINATE_MAX_M;
        if self.link >= RENDERED_LINKS_MAX {
            return Err(ModelError::Link { got: self.link, limit: RENDERED_LINKS_MAX });
        }
        let on_tool =
            if self.on_tool.is_finite() { self.on_tool.abs().max_element() } else { f64::NAN };
        for (what, got, [least, most]) in [
            ("on_tool", on_tool, [0.0, 4.0 * far]),
            ("normal", self.normal.length(), [1.0 - CONTACT_SLACK, 1.0 + CONTACT_SLACK]),
            ("gap_m", self.gap_m, [-4.0 * far, 4.0 * far]),
            ("normal_velocity_m_s", self.normal_velocity_m_s.abs(), [0.0, far]),
            ("gap_error_m", self.gap_error_m, [0.0, 4.0 * far]),
        ] {
            within(what, got, least, most)?;
        }
        self.law.map_or(Ok(()), |law| {
            law.ranged()
                .into_iter()
                .try_for_each(|(what, got, [least, most])| within(what, got, least, most))
        })
    }
}

/// Maximum lifetime of a model, seconds: a simulator without answers for so long has no business to push a hand.
pub const EXPIRES_S_MAX: f64 = 0.1;

/// Time until moving tissues have used up a radius, seconds; at most [`EXPIRES_S_MAX`].
pub fn used_up_s(radius_m: f64, tissue_speed_m_s: f64) -> f64 {
    let used_up_s = radius_m / tissue_speed_m_s;
    // At rest the quotient is infinite, and with no radius it is no number.
    if used_up_s < EXPIRES_S_MAX { used_up_s } else { EXPIRES_S_MAX }
}

/// Greatest rate of a link's screw, metres or radians per unit: a link of a micrometre that turns.
const SCREW_MAX: f64 = 1e6;

fn within(what: &'static str, got: f64, least: f64, most: f64) -> Result<(), ModelError> {
    // A NaN is in no range.
    let is_within = (least..=most).contains(&got);
    if is_within { Ok(()) } else { Err(ModelError::Range { what, got, least, most }) }
}
