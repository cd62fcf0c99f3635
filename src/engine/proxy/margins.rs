//! Search margins of a proxy: how far around it contacts are searched.

use crate::geometry::tolerance::{
    PROXY_MARGIN_MAX_M, PROXY_MARGIN_MIN_M, PROXY_MARGIN_ROUND_M, PROXY_MARGIN_SMALL_M,
};
use crate::scene::Tool;

/// The least margin of a tool of few millimetres, as a share of its largest link: all of a vessel would be within the
/// margin of a larger tool, and a round would test every pair.
const MIN_SHARE: f64 = 0.06;
/// Growth of the margins per tick after a search that had too little time.
const LATE_GROWTH: f64 = 1.1;

/// Margins, metres.
pub(super) struct Margins {
    /// The least margin, and the margin of later rounds of a tick.
    pub(super) min_m: f64,
    pub(super) round_m: f64,
    /// Margin of the first round towards a pose.
    pub(super) first_m: f64,
    /// Margin beyond which, in the last ticks, there were more pairs than are preferred.
    pub(super) top_m: f64,
    /// Limit of the first round's margin for a while, because a search had too little time.
    pub(super) late_m: f64,
    /// Margin of the search for a local model.
    pub(super) survey_m: f64,
}

impl Margins {
    /// Margins of a tool before its first tick.
    pub(super) fn of(tool: &Tool) -> Margins {
        let share = MIN_SHARE * tool.link_size_max();
        let min_m = share.clamp(PROXY_MARGIN_SMALL_M, PROXY_MARGIN_MIN_M);
        Margins {
            min_m,
            round_m: min_m.min(PROXY_MARGIN_ROUND_M),
            first_m: PROXY_MARGIN_MAX_M,
            top_m: PROXY_MARGIN_MAX_M,
            late_m: f64::INFINITY,
            survey_m: PROXY_MARGIN_MAX_M,
        }
    }

    /// Shrinks the margins to what the last motions needed. `is_under_way`: a search that had too little time is
    /// continued, and would start again with a wider margin.
    pub(super) fn begin_tick(&mut self, is_under_way: bool) {
        self.top_m = (2.0 * self.top_m).min(PROXY_MARGIN_MAX_M);
        self.first_m = (0.5 * self.first_m).max(self.min_m).min(self.late_m);
        if !is_under_way {
            self.late_m *= LATE_GROWTH;
        }
    }

    /// Lowers the limit after a search within a margin had too little time: the next tick gets on where this one did
    /// not.
    pub(super) fn note_late(&mut self, margin_m: f64) {
        // If more is near than a search may hold, the margin was less already: the next tick continues with it.
        self.late_m = (0.5 * margin_m).max(self.round_m).min(margin_m);
    }
}
