//! Faults put into answers on purpose, which the judge has to find.

use palpate::proto::{FlagMask, LinkAnswer, TrackResponse};

use super::tally::Broken;

/// Kind of fault in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    DroppedContact,
    LaterTime,
    FlippedSign,
    LongerDistance,
    HigherBound,
    LesserDepth,
    TurnedNormal,
    OldRevision,
}

impl Fault {
    pub const ALL: [Fault; 8] = [
        Fault::DroppedContact,
        Fault::LaterTime,
        Fault::FlippedSign,
        Fault::LongerDistance,
        Fault::HigherBound,
        Fault::LesserDepth,
        Fault::TurnedNormal,
        Fault::OldRevision,
    ];

    pub fn found_as(self) -> Broken {
        match self {
            Fault::DroppedContact => Broken::Missed,
            Fault::LaterTime => Broken::Late,
            Fault::FlippedSign => Broken::Sign,
            Fault::LongerDistance => Broken::Distance,
            Fault::HigherBound => Broken::Bound,
            Fault::LesserDepth => Broken::Depth,
            Fault::TurnedNormal => Broken::Untrue,
            Fault::OldRevision => Broken::Revision,
        }
    }

    /// Puts the fault into the answer, if the answer can have it.
    pub fn spoil(self, answer: &mut TrackResponse) {
        if self == Fault::OldRevision {
            answer.tissues.iter_mut().for_each(|t| t.geometry_revision += 1_000);
        }
        if self == Fault::LaterTime && answer.flags & FlagMask::Swept as u32 == 0 {
            return;
        }
        answer.links.iter_mut().for_each(|link| self.spoil_link(link));
    }

    fn spoil_link(self, link: &mut LinkAnswer) {
        let distance = &mut link.signed_distance_m;
        match (self, &mut link.contacts) {
            (Fault::DroppedContact, Some(c)) => {
                c.total -= 1;
                c.tissue_ids.pop();
                c.triangle_ids.pop();
            }
            (Fault::LaterTime, Some(c)) => {
                c.toi.iter_mut().filter(|t| **t >= 0.0).for_each(|t| *t = 0.5 + 0.5 * *t);
            }
            (Fault::FlippedSign, _) if !link.is_lower_bound => *distance = -*distance,
            (Fault::LongerDistance, _) if *distance > 0.0 => *distance += 1e-5,
            (Fault::HigherBound, _) => {
                link.lower_bound_m = link.lower_bound_m.map(|b| b.max(0.0) + 0.05);
            }
            (Fault::LesserDepth, _) if *distance < 0.0 => *distance *= 0.5,
            (Fault::TurnedNormal, Some(c)) => c.normal_xyz.iter_mut().for_each(|n| *n = -*n),
            _ => {}
        }
    }
}
