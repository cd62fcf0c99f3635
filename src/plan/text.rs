//! Formats the report as a table for people.

use std::fmt::Write;

use super::{report::PlanReport, simulation::outcome::Outcome, sizing::Sizing};
use crate::geometry::short_number::grouped;

/// Formats the whole report.
pub fn of(report: &PlanReport) -> String {
    let mut text = String::new();
    write_sizing(&mut text, &report.sizing).expect("a String takes all");
    if let Some(outcome) = &report.simulation {
        write_outcome(&mut text, outcome).expect("a String takes all");
    }
    write_grounds(&mut text, report).expect("a String takes all");
    text
}

fn write_sizing(text: &mut String, sizing: &Sizing) -> std::fmt::Result {
    let Sizing { machines, scenes_per_machine, loops_per_machine, bound_by, .. } = sizing;
    writeln!(
        text,
        "{machines} machines, each with {scenes_per_machine} scenes and {loops_per_machine} loops at most ({bound_by} is \
         used up first)\n"
    )?;
    let names = sizing.resources.iter().map(|r| format!("{}, {}", r.name, r.unit));
    let names: Vec<String> = names.collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    writeln!(text, "{:<width$}{:>16}{:>16}{:>10}", "", "a scene takes", "a machine has", "full")?;
    for (name, r) in names.iter().zip(&sizing.resources) {
        let full = 100.0 * r.scene_takes * *scenes_per_machine as f64 / r.machine_has;
        writeln!(
            text,
            "{name:<width$}{:>16.3}{:>16.2}{full:>8.0} %",
            r.scene_takes, r.machine_has
        )?;
    }
    writeln!(
        text,
        "\nAll together: {:.1} GB of memory, {:.2} Gbit/s in, {:.2} Gbit/s out, {:.1} MB/s of positions to disk.",
        sizing.memory_gb, sizing.received_gbit, sizing.sent_gbit, sizing.journal_mb
    )?;
    writeln!(
        text,
        "On a full machine {:.1} % of the ticks wait for a core: {:.0} us in the mean over all, 99 of 100 no longer than \
         {:.0} us.",
        100.0 * sizing.waiting_share,
        sizing.wait_us_mean,
        sizing.wait_us_p99
    )
}

fn write_outcome(text: &mut String, o: &Outcome) -> std::fmt::Result {
    writeln!(
        text,
        "\nSimulated: {} machines with {} scenes each, {:.0} hours",
        o.machines, o.scenes_per_machine, o.hours
    )?;
    let counts = [
        ("scenes asked for", o.asked_for),
        ("  turned away: no room", o.unplaced),
        ("machines that failed", o.failures),
        ("  scenes taken over", o.taken_over),
        ("  scenes closed before they had a server", o.closed_in_a_gap),
        ("rolling upgrades", o.upgrades),
        ("  scenes moved", o.moved),
        ("  moves put off: no room", o.moves_put_off),
        ("acknowledged edits lost", o.edits_lost),
        ("deformations since the last second, lost", o.deformations_since_the_last_second),
    ];
    for (name, n) in counts {
        writeln!(text, "{name:<44}{:>12}", grouped(n))?;
    }
    let gaps = [("gap after a failure", o.after_failures), ("gap of a move", o.after_moves)];
    for (name, gap) in gaps {
        let all = format!("{:.2} / {:.2} / {:.2} s", gap.p50_s, gap.p99_s, gap.max_s);
        writeln!(text, "{:<36} {all:>19}", format!("{name}, p50 / p99 / max"))?;
    }
    let served = 100.0 * (1.0 - o.gap_hours / o.scene_hours.max(f64::MIN_POSITIVE));
    writeln!(text, "{:<44}{served:>10.4} %", "of the scenes' time was served")
}

fn write_grounds(text: &mut String, report: &PlanReport) -> std::fmt::Result {
    writeln!(text, "\nMeasured:")?;
    for f in &report.figures {
        let unit = if f.unit.is_empty() { String::new() } else { format!(" {}", f.unit) };
        writeln!(text, "- {}: {}{unit} ({})", f.what, f.value, f.source)?;
    }
    writeln!(text, "Taken for granted:")?;
    report.assumptions.iter().try_for_each(|assumption| writeln!(text, "- {assumption}"))
}
