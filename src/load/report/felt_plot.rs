//! Device depth, proxy depth and force over time, as a plot of a run's picture.

use std::fmt::Write as _;

use super::{renderings::FeltSample, servo::ServoForce};

/// Position and size of a plot in its picture, in pixels.
#[derive(Clone, Copy)]
pub struct PlotPlace {
    /// Left edge of the frame.
    pub left: f64,
    /// Top edge of the frame.
    pub top: f64,
    /// Width of the frame.
    pub width: f64,
    /// Height of the frame.
    pub height: f64,
}

const DEVICE: &str = "#888888";
const PROXY: &str = "#1664a5";
const FORCE: &str = "#c8501e";
const SERVO: &str = "#2f8f3a";
const MARKS: u32 = 5;

/// Draws millimetres on the left axis and newtons on the right. `at_device`: forces of the servo, if there is one.
pub fn draw(samples: &[FeltSample], at_device: &[ServoForce], place: PlotPlace) -> String {
    let PlotPlace { left, top, width, height } = place;
    let most =
        |of: fn(&FeltSample) -> f64, least: f64| samples.iter().map(of).fold(least, f64::max);
    let (seconds, depth_mm) = (most(|s| s.seconds, 1e-3), most(|s| 1e3 * s.device_depth_m, 1.0));
    let force_n = at_device.iter().map(|s| s.force_n).fold(most(|s| s.force_n, 0.1), f64::max);
    // The axis starts a tenth below zero, so that a proxy at zero does not coincide with the frame.
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
    let of_answers = |of: Quantity, whole: f64| -> Vec<(f64, f64)> {
        samples.iter().map(|s| (s.seconds, of(s) / whole)).collect()
    };
    let servo = at_device.iter().map(|s| (s.seconds, s.force_n / force_n)).collect();
    let curves = [
        ("device, mm", DEVICE, of_answers(|s| 1e3 * s.device_depth_m, depth_mm)),
        ("proxy, mm", PROXY, of_answers(|s| 1e3 * s.proxy_depth_m, depth_mm)),
        ("answer's force, N", FORCE, of_answers(|s| s.force_n, force_n)),
        ("servo's force, N", SERVO, servo),
    ];
    let drawn = curves.iter().filter(|(_, _, points)| !points.is_empty());
    for (row, (name, colour, points)) in drawn.enumerate() {
        let mut path = String::new();
        for (i, (seconds, share)) in points.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x(*seconds), y(*share));
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
