//! The result of a replay, for people.

use std::fmt::Write;

use crate::service::replay::{ReplayReport, ReplayStop, SessionReplay};

/// Returns some lines for the scene and for each loop.
pub fn summary(report: &ReplayReport) -> String {
    let mut text = String::new();
    let mut line =
        |text_of_line: String| writeln!(text, "{text_of_line}").expect("a String takes all");
    let ReplayReport { version, scene, n_changes, equal_changes, .. } = report;
    line(format!("scene {scene:?}, recorded by palpate {version}"));
    if let Some(reason) = &report.broken_off {
        line(format!("the recording ended early: {reason}"));
    }
    if report.dropped_ticks > 0 {
        line(format!("{} ticks are missing, as the disk did not keep up", report.dropped_ticks));
    }
    line(format!("changes: {equal_changes} of {n_changes} answered as then"));
    match &report.changes_stopped {
        Some(ReplayStop::Differs(difference)) => line(format!("  first difference: {difference}")),
        Some(ReplayStop::Lacks(what)) => line(format!("  not comparable: {what}")),
        None => {}
    }
    for session in &report.sessions {
        let SessionReplay { session: number, equal, cut_short, coalesced, .. } = session;
        line(format!(
            "session {number}: {equal} answers equal bit for bit ({cut_short} cut short by the clock), {coalesced} \
             coalesced, {} while not served, {} not comparable",
            session.not_served, session.not_comparable
        ));
        match &session.stopped {
            Some((sequence, ReplayStop::Differs(difference))) => {
                line(format!("  first difference, at sequence {sequence}: {difference}"));
            }
            Some((sequence, ReplayStop::Lacks(what))) => {
                line(format!(
                    "  not comparable from sequence {sequence} on: the recording lacks {what}"
                ));
            }
            None => {}
        }
        if let Some(dump) = &session.dump {
            line(dump.clone());
        }
    }
    text
}
