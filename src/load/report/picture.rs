//! A run as an SVG picture: the distribution of round trips, and round trips over time.

use std::fmt::Write as _;

use super::{
    felt_plot::{self, PlotPlace},
    latencies::Latencies,
    renderings::FeltSample,
    servo::ServoForce,
    timeline::Timeline,
};

const WIDTH: f64 = 900.0;
const PLOT_HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 50.0;
/// Height between two plots, for the axis' numbers and the next plot's title.
const GAP: f64 = 80.0;
const COLOURS: [&str; 5] = ["#1664a5", "#c8501e", "#2f8f3a", "#7a4fa3", "#888888"];
/// Marks on the axis of percentiles.
const PERCENTS: [f64; 6] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99];
/// Samples of a curve.
const SAMPLES: u32 = 400;

/// Named durations.
pub struct Curve<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Durations to draw.
    pub latencies: &'a Latencies,
}

/// Position of a plot and its axes, both logarithmic or linear as the caller maps them.
struct Plot {
    top: f64,
    x: (f64, f64),
    /// Decades of microseconds.
    y: (f64, f64),
}

/// Draws the percentile curves with the deadline across them, below them the first curve over time, and below that the
/// depths and forces that a hand would have felt.
pub fn draw(
    title: &str,
    curves: &[Curve],
    timeline: Option<&Timeline>,
    (felt, at_device): (&[FeltSample], &[ServoForce]),
    deadline_us: f64,
) -> String {
    let n_plots = 1 + usize::from(timeline.is_some()) + usize::from(!felt.is_empty());
    let height = TOP + (PLOT_HEIGHT + GAP) * n_plots as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(
        &mut svg,
        LEFT,
        24.0,
        "start",
        &format!("<tspan font-size=\"15\">{}</tspan>", escaped(title)),
    );
    let drawn: Vec<&Curve> = curves.iter().filter(|c| c.latencies.count() > 0).collect();
    percentiles(&mut svg, &drawn, deadline_us);
    if let Some(timeline) = timeline {
        through_time(&mut svg, timeline, deadline_us);
    }
    if !felt.is_empty() {
        let top = TOP + (PLOT_HEIGHT + GAP) * (n_plots - 1) as f64;
        let width = WIDTH - LEFT - RIGHT;
        svg += &felt_plot::draw(
            felt,
            at_device,
            PlotPlace { left: LEFT, top, width, height: PLOT_HEIGHT },
        );
    }
    svg + "</svg>\n"
}

fn percentiles(svg: &mut String, curves: &[&Curve], deadline_us: f64) {
    let at = |curve: &Curve, percent| curve.latencies.percentile_us(percent).unwrap_or(0.0);
    // The range includes the deadline, so that its line is always within the frame.
    let least = curves.iter().map(|c| at(c, 0.0)).fold(deadline_us, f64::min);
    let most = curves.iter().map(|c| at(c, 100.0)).fold(deadline_us, f64::max);
    // Each nine takes equal width. 100 % would be infinitely far, so the axis ends at 99.99.
    let nines = |percent: f64| -(1.0 - percent / 100.0).log10();
    let plot = Plot { top: TOP, x: (0.0, nines(99.99)), y: decades(least, most) };
    plot.frame(svg, "microseconds at most, by share of the ticks");
    for percent in PERCENTS {
        plot.x_mark(svg, nines(percent), &format!("{percent} %"));
    }
    plot.deadline(svg, deadline_us);
    for (i, curve) in curves.iter().enumerate() {
        let points = (0..=SAMPLES).map(|k| {
            let x = plot.x.1 * f64::from(k) / f64::from(SAMPLES);
            (x, at(curve, 100.0 * (1.0 - 10f64.powf(-x))))
        });
        plot.line(svg, points, COLOURS[i % COLOURS.len()]);
        plot.legend(svg, i, curve.name, COLOURS[i % COLOURS.len()]);
    }
}

fn through_time(svg: &mut String, timeline: &Timeline, deadline_us: f64) {
    let slots = timeline.slots();
    let answered = || slots.iter().filter(|s| s.answered > 0);
    let least = answered().map(|s| s.mean_us()).fold(deadline_us, f64::min);
    let most = answered().map(|s| s.max_us).fold(deadline_us, f64::max);
    let seconds = |i: usize| i as f64 * timeline.width_s();
    let plot = Plot {
        top: TOP + PLOT_HEIGHT + GAP,
        x: (0.0, seconds(slots.len().max(1))),
        y: decades(least, most),
    };
    let title = format!("microseconds over seconds, slots of {:.0} ms", 1e3 * timeline.width_s());
    plot.frame(svg, &title);
    for i in 0..=5 {
        let x = plot.x.1 * f64::from(i) / 5.0;
        plot.x_mark(svg, x, &format!("{x:.1} s"));
    }
    plot.deadline(svg, deadline_us);
    let each = || slots.iter().enumerate().filter(|(_, s)| s.answered > 0);
    // The maximum is drawn first, so that the mean over it stays visible.
    plot.line(svg, each().map(|(i, s)| (seconds(i), s.max_us)), COLOURS[1]);
    plot.line(svg, each().map(|(i, s)| (seconds(i), s.mean_us())), COLOURS[0]);
    for (i, _) in slots.iter().enumerate().filter(|(_, s)| s.missed > 0) {
        let (x, bottom) = (plot.at_x(seconds(i)), plot.top + PLOT_HEIGHT);
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(svg, "<path d=\"M{x:.1} {bottom} v-6\" stroke=\"#d00\"/>");
    }
    plot.legend(svg, 0, "mean of a slot", COLOURS[0]);
    plot.legend(svg, 1, "worst of a slot", COLOURS[1]);
    plot.legend(svg, 2, "slot with misses", "#d00");
}

/// Returns whole decades that enclose two numbers of microseconds.
fn decades(least: f64, most: f64) -> (f64, f64) {
    let low = least.max(0.1).log10().floor();
    // The range is at least one decade: a plot without height would divide by zero.
    (low, most.max(1.0).log10().ceil().max(low + 1.0))
}

impl Plot {
    fn at_x(&self, x: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (x - self.x.0) / (self.x.1 - self.x.0)
    }

    fn at_us(&self, us: f64) -> f64 {
        let share = (us.max(0.1).log10() - self.y.0) / (self.y.1 - self.y.0);
        self.top + PLOT_HEIGHT * (1.0 - share.clamp(0.0, 1.0))
    }

    fn frame(&self, svg: &mut String, title: &str) {
        let (top, width) = (self.top, WIDTH - LEFT - RIGHT);
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{PLOT_HEIGHT}\" fill=\"none\" \
             stroke=\"#444\"/>"
        );
        text(svg, LEFT, top - 8.0, "start", title);
        for decade in self.y.0 as i32..=self.y.1 as i32 {
            let us = 10f64.powi(decade);
            let y = self.at_us(us);
            let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1} h{width}\" stroke=\"#ddd\"/>");
            text(svg, LEFT - 6.0, y + 4.0, "end", &us.to_string());
        }
    }

    fn x_mark(&self, svg: &mut String, x: f64, name: &str) {
        let (x, top) = (self.at_x(x), self.top);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top} v{PLOT_HEIGHT}\" stroke=\"#ddd\"/>");
        text(svg, x, top + PLOT_HEIGHT + 16.0, "middle", name);
    }

    fn deadline(&self, svg: &mut String, us: f64) {
        let (y, width) = (self.at_us(us), WIDTH - LEFT - RIGHT);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1} h{width}\" stroke=\"#d00\" stroke-dasharray=\"5 4\"/>"
        );
        text(svg, WIDTH - RIGHT + 6.0, y + 4.0, "start", &format!("deadline {us} us"));
    }

    fn line(&self, svg: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
        let mut path = String::new();
        for (i, (x, us)) in points.enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", self.at_x(x), self.at_us(us));
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
        );
    }

    fn legend(&self, svg: &mut String, row: usize, name: &str, colour: &str) {
        let (x, y) = (WIDTH - RIGHT + 8.0, self.top + PLOT_HEIGHT - 12.0 - 20.0 * row as f64);
        let _ = writeln!(svg, "<path d=\"M{x} {y} h22\" stroke=\"{colour}\" stroke-width=\"3\"/>");
        text(svg, x + 28.0, y + 4.0, "start", &escaped(name));
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn curves_rise_to_the_right_within_the_frame() {
        let mut latencies = Latencies::new();
        let (mut timeline, began) = (Timeline::default(), Instant::now());
        timeline.begin(began);
        for tick in 1..=10_000 {
            latencies.record(Duration::from_micros(tick));
            let intended = began + Duration::from_millis(tick);
            timeline.record(intended, Some(Duration::from_micros(tick)), tick < 9_000);
        }
        let curves = [Curve { name: "a < b", latencies: &latencies }];
        let svg = draw("a run", &curves, Some(&timeline), (&[], &[]), 1000.0);
        assert!(svg.contains("a &lt; b") && svg.contains("slot with misses"));
        let path = svg.lines().find(|l| l.contains(COLOURS[0])).expect("a curve");
        let numbers = path.split(['M', 'L', '"']).filter_map(|p| p.split_once(' '));
        let points: Vec<(f64, f64)> =
            numbers.filter_map(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?))).collect();
        assert_eq!(points.len(), SAMPLES as usize + 1);
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1));
        assert!(points.iter().all(|(_, y)| (TOP..=TOP + PLOT_HEIGHT).contains(y)));
        assert!(!draw("none", &[], None, (&[], &[]), 1000.0).contains("NaN"));
    }
}
