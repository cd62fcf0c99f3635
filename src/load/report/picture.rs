//! A run as an SVG picture: the distribution of round trips, round trips over time, and the depths and forces that a hand
//! would have felt, each with axes of its own.

use std::{error::Error, ops::Range};

use plotters::{coord::Shift, prelude::*};

use super::{latencies::Latencies, renderings::FeltSample, servo::ServoForce, timeline::Timeline};

const WIDTH: u32 = 900;
const TITLE_HEIGHT: u32 = 40;
const PLOT_HEIGHT: u32 = 300;
const MARGIN: u32 = 12;
const LABELS_WIDTH: u32 = 56;
/// Width of the legend, to the right of its plot.
const LEGEND_WIDTH: u32 = 180;
const BLUE: RGBColor = RGBColor(22, 100, 165);
const ORANGE: RGBColor = RGBColor(200, 80, 30);
const GREEN: RGBColor = RGBColor(47, 143, 58);
const VIOLET: RGBColor = RGBColor(122, 79, 163);
const GREY: RGBColor = RGBColor(136, 136, 136);
const COLOURS: [RGBColor; 5] = [BLUE, ORANGE, GREEN, VIOLET, GREY];
const FONT: &str = "sans-serif";
/// Samples of a curve of percentiles.
const SAMPLES: u32 = 400;
/// Greatest share that is drawn, as a number of nines: 100 % would be infinitely far.
const NINES_MAX: f64 = 4.0;

/// Named durations.
pub struct Curve<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Durations to draw.
    pub latencies: &'a Latencies,
}

/// The contents of a picture.
pub struct Picture<'a> {
    /// The run, and the program and the machine that made it.
    pub title: &'a str,
    /// Durations, of which the distribution is drawn.
    pub curves: &'a [Curve<'a>],
    /// Round trips over time, if they are drawn.
    pub timeline: Option<&'a Timeline>,
    /// A rendered run's answers; none: it was not rendered.
    pub felt: &'a [FeltSample],
    /// Forces of the servo; none: there was no servo.
    pub at_device: &'a [ServoForce],
    /// Also draws the stiffness that was felt along the way: the tissue has materials.
    pub has_materials: bool,
    /// Microseconds.
    pub deadline_us: f64,
}

type PlotResult = Result<(), Box<dyn Error>>;
/// Draws a plot of a picture.
type Plot<'p> = fn(&Picture<'p>, &Area) -> PlotResult;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of a plot.
struct PlottedLine<'a> {
    name: &'a str,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

impl Picture<'_> {
    /// Returns the picture as SVG.
    ///
    /// # Errors
    /// Returns the first error of the drawing library.
    pub fn svg(&self) -> Result<String, Box<dyn Error>> {
        let is_felt = !self.felt.is_empty();
        let plots: [(bool, Plot); 5] = [
            (true, Self::percentiles),
            (self.timeline.is_some(), Self::through_time),
            (is_felt, Self::depths),
            (is_felt, Self::forces),
            (is_felt && self.has_materials, Self::stiffness),
        ];
        let plots: Vec<_> = plots.iter().filter(|(is_drawn, _)| *is_drawn).collect();
        let mut svg = String::new();
        {
            let size = (WIDTH, TITLE_HEIGHT + plots.len() as u32 * PLOT_HEIGHT);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE)?;
            root.draw_text(self.title, &(FONT, 14).into(), (16, 16))?;
            let (_, below) = root.split_vertically(TITLE_HEIGHT);
            let areas = below.split_evenly((plots.len(), 1));
            areas.iter().zip(&plots).try_for_each(|(area, (_, plot))| plot(self, area))?;
            root.present()?;
        }
        Ok(svg)
    }

    fn percentiles(&self, area: &Area) -> PlotResult {
        let at = |curve: &Curve, nines: f64| {
            let percent = 100.0 * (1.0 - 10f64.powf(-nines));
            curve.latencies.percentile_us(percent).unwrap_or(0.0)
        };
        let drawn = self.curves.iter().filter(|curve| curve.latencies.count() > 0);
        let lines: Vec<PlottedLine> = drawn
            .zip(COLOURS)
            .map(|(curve, colour)| {
                let nines = |k| NINES_MAX * f64::from(k) / f64::from(SAMPLES);
                let points = (0..=SAMPLES).map(|k| (nines(k), at(curve, nines(k)))).collect();
                PlottedLine { name: curve.name, colour, points }
            })
            .collect();
        let percent = |nines: &f64| match *nines {
            ..0.5 => "0 %".to_owned(),
            n => format!("{} %", 100.0 - 100.0 / 10f64.powf(n).round()),
        };
        // Each nine takes equal width.
        let x = 0.0..NINES_MAX;
        self.durations(
            area,
            "microseconds at most, by share of the ticks",
            x,
            (5, &percent),
            &lines,
            &[],
        )
    }

    fn through_time(&self, area: &Area) -> PlotResult {
        let Some(timeline) = self.timeline else { return Ok(()) };
        let (slots, width_s) = (timeline.slots(), timeline.width_s());
        let seconds = |slot: usize| slot as f64 * width_s;
        let answered = || slots.iter().enumerate().filter(|(_, slot)| slot.answered > 0);
        // The maximum is drawn first, so that the mean over it stays visible.
        let lines = [
            PlottedLine {
                name: "worst of a slot",
                colour: ORANGE,
                points: answered().map(|(i, slot)| (seconds(i), slot.max_us)).collect(),
            },
            PlottedLine {
                name: "mean of a slot",
                colour: BLUE,
                points: answered().map(|(i, slot)| (seconds(i), slot.mean_us())).collect(),
            },
        ];
        let missed = slots.iter().enumerate().filter(|(_, slot)| slot.missed > 0);
        let missed: Vec<f64> = missed.map(|(i, _)| seconds(i)).collect();
        let title = format!("microseconds over seconds, slots of {:.0} ms", 1e3 * width_s);
        let x = 0.0..seconds(slots.len().max(1));
        self.durations(area, &title, x, (10, &|s| format!("{s}")), &lines, &missed)
    }

    /// Draws durations on a logarithmic axis, with the deadline across them and marks of what missed it.
    fn durations(
        &self,
        area: &Area,
        title: &str,
        x: Range<f64>,
        (x_labels, x_label): (usize, &dyn Fn(&f64) -> String),
        lines: &[PlottedLine],
        missed: &[f64],
    ) -> PlotResult {
        let values = || lines.iter().flat_map(|line| line.points.iter().map(|(_, us)| *us));
        let (low, high) = decades(
            values().fold(self.deadline_us, f64::min),
            values().fold(self.deadline_us, f64::max),
        );
        let mut chart = frame(area, title).build_cartesian_2d(x, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(x_labels)
            .x_label_formatter(x_label)
            .y_label_formatter(&|us| format!("{us}"))
            .draw()?;
        let (from, to) = (chart.x_range().start, chart.x_range().end);
        let deadline = [(from, self.deadline_us), (to, self.deadline_us)];
        chart.draw_series(DashedLineSeries::new(deadline, 5, 4, RED.stroke_width(1)))?;
        for PlottedLine { colour, points, .. } in lines {
            let (points, colour) = (points.iter().copied(), *colour);
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        if !missed.is_empty() {
            let mark = |s: &f64| PathElement::new([(*s, low), (*s, 1.15 * low)], RED);
            chart.draw_series(missed.iter().map(mark))?;
        }
        let deadline = format!("deadline, {} us", self.deadline_us);
        let names = lines.iter().map(|line| (line.name, line.colour));
        let missed = (!missed.is_empty()).then_some(("slot with misses", RED));
        legend(area, names.chain([(&*deadline, RED)]).chain(missed))
    }

    fn depths(&self, area: &Area) -> PlotResult {
        let of = |name, colour, depth_m: fn(&FeltSample) -> f64| PlottedLine {
            name,
            colour,
            points: self.felt.iter().map(|s| (s.seconds, 1e3 * depth_m(s))).collect(),
        };
        let lines =
            [of("device", GREY, |s| s.device_depth_m), of("proxy", BLUE, |s| s.proxy_depth_m)];
        amounts(area, "millimetres deep, over seconds", &lines, 1.0)
    }

    fn forces(&self, area: &Area) -> PlotResult {
        let mut lines = vec![PlottedLine {
            name: "force of the answers",
            colour: ORANGE,
            points: self.felt.iter().map(|s| (s.seconds, s.force_n)).collect(),
        }];
        if !self.at_device.is_empty() {
            lines.push(PlottedLine {
                name: "force of the servo",
                colour: GREEN,
                points: self.at_device.iter().map(|s| (s.seconds, s.force_n)).collect(),
            });
        }
        amounts(area, "newtons on the hand, over seconds", &lines, 0.1)
    }

    fn stiffness(&self, area: &Area) -> PlotResult {
        let pressed = self.felt.iter().filter(|s| s.stiffness_n_per_m > 0.0);
        let points = pressed.map(|s| (s.seconds, s.stiffness_n_per_m)).collect();
        let lines = [PlottedLine { name: "felt stiffness", colour: VIOLET, points }];
        amounts(area, "newtons for each metre pressed, over seconds on the way", &lines, 1.0)
    }
}

/// Draws lines over seconds, from a tenth below zero to the greatest amount, which is `least` or more.
fn amounts(area: &Area, title: &str, lines: &[PlottedLine], least: f64) -> PlotResult {
    let points = || lines.iter().flat_map(|line| &line.points);
    let most = points().map(|(_, y)| *y).fold(least, f64::max);
    let seconds = points().map(|(x, _)| *x).fold(1e-3, f64::max);
    let mut chart =
        frame(area, title).build_cartesian_2d(0.0..seconds, -0.1 * most..1.05 * most)?;
    chart.configure_mesh().light_line_style(TRANSPARENT).draw()?;
    for PlottedLine { colour, points, .. } in lines {
        let (points, colour) = (points.iter().copied(), *colour);
        chart.draw_series(LineSeries::new(points, colour.stroke_width(1)))?;
    }
    legend(area, lines.iter().map(|line| (line.name, line.colour)))
}

/// Begins a plot with its title, and room for labels and legend.
fn frame<'a, 'b>(area: &'a Area<'b>, title: &str) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut frame = ChartBuilder::on(area);
    frame.caption(title, (FONT, 13)).margin(MARGIN).margin_right(LEGEND_WIDTH);
    frame.x_label_area_size(24).y_label_area_size(LABELS_WIDTH);
    frame
}

/// Writes the names of the lines beside their plot, each with its colour.
fn legend<'a>(area: &Area, names: impl IntoIterator<Item = (&'a str, RGBColor)>) -> PlotResult {
    let left = (WIDTH - LEGEND_WIDTH + MARGIN) as i32;
    for (row, (name, colour)) in (2..).zip(names) {
        let y = 18 * row;
        area.draw(&PathElement::new([(left, y), (left + 20, y)], colour.stroke_width(3)))?;
        area.draw_text(name, &(FONT, 12).into(), (left + 28, y - 6))?;
    }
    Ok(())
}

/// Returns whole decades that enclose two numbers of microseconds: at least one.
fn decades(least: f64, most: f64) -> (f64, f64) {
    let low = least.max(0.1).log10().floor();
    let high = most.max(1.0).log10().ceil().max(low + 1.0);
    (10f64.powf(low), 10f64.powf(high))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_picture_has_a_plot_with_its_own_axes_for_each_quantity() {
        let mut latencies = Latencies::new();
        let (mut timeline, began) = (Timeline::default(), Instant::now());
        timeline.begin(began);
        for tick in 1..=10_000 {
            latencies.record(Duration::from_micros(tick));
            let intended = began + Duration::from_millis(tick);
            timeline.record(intended, Some(Duration::from_micros(tick)), tick < 9_000);
        }
        let curves = [Curve { name: "a < b", latencies: &latencies }];
        let mut picture = Picture {
            title: "a run",
            curves: &curves,
            timeline: Some(&timeline),
            felt: &[],
            at_device: &[],
            has_materials: false,
            deadline_us: 1000.0,
        };
        let svg = picture.svg().expect("drawn");
        for said in ["a &lt; b", "slot with misses", "99.9 %", "deadline, 1000 us"] {
            assert!(svg.contains(said), "{said}");
        }
        // A curve rises to the right: downwards is positive in a picture.
        let curve =
            svg.lines().find(|l| l.contains("polyline") && l.contains("#1664A5")).expect("a curve");
        let numbers =
            curve.split("points=\"").nth(1).expect("points").split('"').next().expect("an end");
        let points: Vec<(i32, i32)> = numbers
            .split_whitespace()
            .map(|p| p.split_once(',').expect("a point"))
            .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
            .collect();
        assert_eq!(points.len(), SAMPLES as usize + 1);
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1));
        let felt = FeltSample {
            seconds: 1.0,
            device_depth_m: 0.01,
            force_n: 2.0,
            ..FeltSample::default()
        };
        picture.felt = std::slice::from_ref(&felt);
        let svg = picture.svg().expect("drawn");
        assert!(svg.contains("millimetres deep") && svg.contains("newtons on the hand"));
        assert!(!svg.contains("felt stiffness"));
        picture.has_materials = true;
        assert!(picture.svg().expect("drawn").contains("felt stiffness"));
        picture.curves = &[];
        let nothing = Timeline::default();
        picture.timeline = Some(&nothing);
        assert!(!picture.svg().expect("drawn").contains("NaN"));
    }
}
