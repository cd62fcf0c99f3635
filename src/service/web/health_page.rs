//! Health page for operators, as plain HTML.

use std::fmt::{Display, Write};

use crate::os::process;
use crate::service::loops::sessions::SessionCounts;
use crate::service::metrics::STAGES;
use crate::service::{clock::now_ns, host::scene_registry::SceneRegistry};

const STYLE: &str = include_str!("health_page.css");
/// The sign of the live view.
const SIGN: &str = "<svg viewBox='0 0 32 32' aria-hidden=true><path class=tissue d='M4 21c4 0 5 0 7.5-.6C14 19.5 \
     14.5 24 16 24s2-4.5 4.5-3.6C23 21 24 21 28 21'/><path class=tool d='M16 5v15'/>\
     <circle class=touch cx=16 cy=20.5 r=2.2 /></svg>";

/// Returns the page, which has no script and fetches nothing. `view`: path of the live view's page.
pub fn page(registry: &SceneRegistry, counted: &SessionCounts, view: Option<&str>) -> String {
    let serving = registry.life().check_served().is_ok();
    let status = if serving { "serving" } else { "ending" };
    let metrics = registry.metrics();
    let up_s = now_ns() / 1_000_000_000;
    let memory = process::resident_bytes().map_or("?".to_owned(), |b| format!("{}", b >> 20));
    let open = metrics.connections.load(std::sync::atomic::Ordering::Relaxed);
    // No automatic reload: slow readers and users of screen readers would lose their position.
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width, initial-scale=1'><title>Palpate: {status}</title>\
         <style>{STYLE}</style><header><h1>{SIGN}Palpate</h1>\
         <p class={status}><span class=lamp></span>{status}, up {up_s} s, {memory} MiB, {open} connections</p>\
         <a href=/>Look again</a></header><main>"
    );
    if let Some(view) = view {
        paragraph(&mut html, &format!("<a href={view}>Live view</a> of the scenes."));
    }
    ticks(&mut html, registry);
    streams(&mut html, registry, counted);
    scenes(&mut html, registry);
    html.push_str(
        "<h2>Monitoring</h2><p>The same for Prometheus: <a href=/metrics>/metrics</a>.</html>",
    );
    html
}

fn ticks(html: &mut String, registry: &SceneRegistry) {
    let (ticks, objective) = (registry.streams().ticks(), registry.metrics().objective);
    heading(html, "Ticks");
    let missed = 100.0 * ticks.missed_ratio();
    paragraph(
        html,
        &format!(
            "{} answered, {} coalesced into newer ones, {} refused; {missed:.2} % took longer than \
             {objective:?}.",
            ticks.answered.get(),
            ticks.coalesced.get(),
            ticks.refused.get()
        ),
    );
    row(html, "th", ["stage", "p50, us", "p99, us", "p99.9, us"]);
    for (stage, times) in STAGES.iter().zip(&ticks.stages) {
        let counts = times.counts();
        let quantiles = [0.5, 0.99, 0.999].map(|share| micros(counts.quantile_us(share)));
        row(html, "td", [(*stage).to_owned()].into_iter().chain(quantiles));
    }
    html.push_str("</table></div>");
}

fn streams(html: &mut String, registry: &SceneRegistry, counted: &SessionCounts) {
    heading(html, "Haptic loops");
    let SessionCounts { stale, waiting, resumed, expired } = counted;
    paragraph(
        html,
        &format!(
            "{stale} without a pose for too long, {waiting} waiting for their client; {resumed} \
             resumed so far, {expired} given up."
        ),
    );
    row(html, "th", ["stream", "scene", "ticks", "missed, %", "p50, us", "p99, us"]);
    for stream in registry.streams().loops() {
        let ticks = &stream.ticks;
        let total = ticks.stages[STAGES.len() - 1].counts();
        let cells = [
            stream.number.to_string(),
            escaped(&stream.scene),
            ticks.answered.get().to_string(),
            format!("{:.2}", 100.0 * ticks.missed_ratio()),
            micros(total.quantile_us(0.5)),
            micros(total.quantile_us(0.99)),
        ];
        row(html, "td", cells);
    }
    html.push_str("</table></div>");
}

fn scenes(html: &mut String, registry: &SceneRegistry) {
    heading(html, "Scenes");
    row(html, "th", ["scene", "tissue", "triangles", "deformations", "cuts", "index wear"]);
    for host in registry.all() {
        let id = escaped(host.scene.id());
        let tissues = host.scene.tissues();
        if host.is_quarantined() {
            row(html, "td", [&*id, "<b class=bad>quarantined</b>"]);
        } else if tissues.is_empty() {
            row(html, "td", [&*id, "none"]);
        }
        for tissue in tissues.iter() {
            let now = tissue.current();
            let cells = [
                id.clone(),
                escaped(tissue.name()),
                now.surface.mesh().n_triangles().to_string(),
                now.geometry_revision.to_string(),
                now.topology_revision.to_string(),
                format!("{:.2}", now.surface.wear()),
            ];
            row(html, "td", cells);
        }
    }
    html.push_str("</table></div>");
}

/// Begins a section.
fn heading(html: &mut String, name: &str) {
    write!(html, "<h2>{name}</h2>").expect("a String takes all");
}

fn paragraph(html: &mut String, text: &str) {
    write!(html, "<p>{text}</p>").expect("a String takes all");
}

fn row(html: &mut String, cell: &str, cells: impl IntoIterator<Item = impl Display>) {
    html.push_str(if cell == "th" { "<div class=wide><table><tr>" } else { "<tr>" });
    for text in cells {
        write!(html, "<{cell}>{text}</{cell}>").expect("a String takes all");
    }
    html.push_str("</tr>");
}

fn micros(us: Option<f64>) -> String {
    us.map_or("-".to_owned(), |us| format!("{us:.0}"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_write_into_the_page() {
        assert_eq!(escaped("<script>&"), "&lt;script&gt;&amp;");
    }
}
