//! Device depth, proxy depth and force over time, as a plot of a run's picture.

use std::fmt::Write as _;

use super::renderings::FeltSample;

/// Where a plot stands in its picture, in pixels.
#[derive(Clone, Copy)]
pub struct PlotPlace {
    /// Of the frame.
    pub left: f64,
    /// Of the frame.
    pub top: f64,
    /// Of the frame.
    pub width: f64,
    /// Of the frame.
    pub height: f64,
}

const DEVICE: &str = "#888888";
const PROXY: &str = "#1664a5";
const FORCE: &str = "#c8501e";
const MARKS: u32 = 5;

/// Millimetres on the left, newtons on the right.
pub fn draw(samples: &[FeltSample], place: PlotPlace) -> String {
    let PlotPlace { left, top, width, height } = place;
    let most =
        |of: fn(&FeltSample) -> f64, least: f64| samples.iter().map(of).fold(least, f64::max);
    let (seconds, depth_mm) = (most(|s| s.seconds, 1e-3), most(|s| 1e3 * s.device_depth_m, 1.0));
    let force_n = most(|s| s.force_n, 0.1);
    // A tenth below zero, so that a proxy at zero is not the frame.
    let y = |share: f64| top + height * (1.0 - (share.clamp(-0.1, 1.0) + 0.1) / 1.1);
    let x = |s: f64| left + width * s / seconds;
    let mut svg = format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#444\"/>\n\
         <text x=\"{left}\" y=\"{:.1}\">millimetres deep (left) and newtons (right) over seconds</text>\n",
        top - 8.0
    );
    for i in 0..=MARKS {
        let share = f64::from(i) / f64::from(MARKS);
        let (at, right) = (y(share), left + width);
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            svg,
            "<path d=\"M{left} {at:.1} h{width}\" stroke=\"#ddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.1}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{:.2}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.1} s</text>\n",
            left - 6.0,
            at + 4.0,
            share * depth_mm,
            right + 6.0,
            at + 4.0,
            share * force_n,
            x(share * seconds),
            top + height + 16.0,
            share * seconds
        );
    }
    type Quantity = fn(&FeltSample) -> f64;
    let curves: [(&str, &str, Quantity, f64); 3] = [
        ("device, mm", DEVICE, |s| 1e3 * s.device_depth_m, depth_mm),
        ("proxy, mm", PROXY, |s| 1e3 * s.proxy_depth_m, depth_mm),
        ("force, N", FORCE, |s| s.force_n, force_n),
    ];
    for (row, (name, colour, of, whole)) in curves.iter().enumerate() {
        let mut path = String::new();
        for (i, sample) in samples.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x(sample.seconds), y(of(sample) / whole));
        }
        let (key_x, key_y) = (left + width + 48.0, top + 20.0 + 20.0 * row as f64);
        let _ = write!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\n\
             <path d=\"M{key_x} {key_y} h22\" stroke=\"{colour}\" stroke-width=\"3\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{name}</text>\n",
            key_x + 28.0,
            key_y + 4.0
        );
    }
    svg
}
