//! Pictures of a field: its distance on one side, the width of its certified interval on the other.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    canvas::{Canvas, Colour, INK, TEXT_HEIGHT, along, mix},
    slice::Slice,
};
use crate::{sdf::Field, surface::Surface};

/// Colours from deep inside, over the surface, to far outside.
const INSIDE: [Colour; 3] = [[16, 52, 120], [70, 130, 190], [222, 235, 247]];
const OUTSIDE: [Colour; 3] = [[254, 237, 214], [240, 150, 80], [140, 45, 4]];
/// Colours of narrow to wide intervals.
const WIDTHS: [Colour; 5] =
    [[226, 240, 217], [120, 198, 121], [49, 130, 149], [68, 58, 130], [50, 10, 60]];
/// Colour of an interval of no width.
const EXACT: Colour = [255, 255, 255];

const GAP: usize = 24;
/// Width for the numbers of an axis or of a bar.
const NUMBERS: usize = 92;
const BAR: usize = 18;
/// Approximate number of iso-lines from the surface to the farthest point.
const LINES: f64 = 10.0;
/// Most ticks of an axis, and least pixels between two.
const TICKS: f64 = 8.0;
const TICK_PIXELS: f64 = 80.0;

/// Writes `{stem}-field-yz.png`, `-xz` and `-xy` into a folder, and returns their paths.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(
    field: &Field,
    surface: &Surface,
    folder: &Path,
    stem: &str,
) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    for (normal, name) in ["yz", "xz", "xy"].into_iter().enumerate() {
        let file = folder.join(format!("{stem}-field-{name}.png"));
        draw(&Slice::new(field, surface, normal), field.report().tolerance_m).write(&file)?;
        files.push(file);
    }
    Ok(files)
}

/// A map of the picture: its contents and the meaning of its colours.
struct Map<'a> {
    title: [String; 2],
    colour: &'a dyn Fn(usize) -> Colour,
    lines: Option<f64>,
    /// Colour at a height of the bar, 0 to 1.
    bar: &'a dyn Fn(f64) -> Colour,
    /// Heights and texts next to the bar.
    marks: Vec<(f64, String)>,
}

fn draw(slice: &Slice, tolerance: f64) -> Canvas {
    let (w, h) = (slice.width, slice.height.max(BAR_HEIGHT_MIN));
    let text = NUMBERS + TEXT_WIDTH_MAX;
    let panel_w = (NUMBERS + w + GAP + BAR + NUMBERS).max(text) + GAP;
    let panel_h = HEAD + h + FOOT;
    // Flat slices go one above the other, others next to each other, so that the picture is about square.
    let beside = slice.height > slice.width / 2;
    let (columns, rows) = if beside { (2, 1) } else { (1, 2) };
    let mut canvas = Canvas::new(panel_w * columns, panel_h * rows + GAP);
    let second = if beside { (panel_w, GAP) } else { (0, panel_h + GAP) };
    draw_distance(&mut canvas, slice, (0, GAP));
    draw_widths(&mut canvas, slice, second, tolerance);
    canvas
}

/// Height of the two lines of a title.
const HEAD: usize = 2 * TEXT_HEIGHT + 16;
/// Height of the numbers and the name of the lower axis.
const FOOT: usize = 4 * TEXT_HEIGHT;
/// Width of the longest line of text.
const TEXT_WIDTH_MAX: usize = 400;
/// Least height of a bar, for its numbers.
const BAR_HEIGHT_MIN: usize = 160;

fn draw_distance(canvas: &mut Canvas, slice: &Slice, at: (usize, usize)) {
    let (deepest, farthest) = Slice::range(&slice.values);
    // The range is at least a pixel on either side: an open sheet has no inside, and its scale would divide by zero.
    let (deepest, farthest) = (deepest.min(-slice.pixel), farthest.max(slice.pixel));
    let step = round_step(farthest / LINES);
    // Both sides use their whole range of colours: a tool is far thinner than the space around it.
    let colour_of = |d: f64| {
        if d < 0.0 { along(&INSIDE, 1.0 - d / deepest) } else { along(&OUTSIDE, d / farthest) }
    };
    let of_height =
        |t: f64| if t < 0.5 { deepest * (1.0 - 2.0 * t) } else { farthest * (2.0 * t - 1.0) };
    let map = Map {
        title: ["signed distance, mm".to_owned(), format!("lines {} mm apart", mm(step))],
        colour: &|i| colour_of(slice.values[i]),
        lines: Some(step),
        bar: &|t| colour_of(of_height(t)),
        marks: [0.0, 0.25, 0.5, 0.75, 1.0].map(|t| (t, mm(of_height(t)))).to_vec(),
    };
    draw_map(canvas, slice, at, &map);
}

fn draw_widths(canvas: &mut Canvas, slice: &Slice, at: (usize, usize), tolerance: f64) {
    let widest = Slice::range(&slice.widths).1.max(10.0 * tolerance);
    // The scale is logarithmic: most of a field is far finer than its bound, and the picture is to show the rest.
    let narrowest = tolerance * 1e-2;
    let decades = (widest / narrowest).ln();
    let colour_of = |w: f64| match w {
        w if w <= 0.0 => EXACT,
        w => along(&WIDTHS, (w / narrowest).ln() / decades),
    };
    let mut marks: Vec<(f64, String)> = Vec::new();
    for w in [narrowest, 2.0 * tolerance, widest] {
        marks.push(((w / narrowest).ln() / decades, mm(w)));
    }
    let map = Map {
        title: [
            "width of certified interval, mm".to_owned(),
            format!("white is exact, tolerance {}", mm(tolerance)),
        ],
        colour: &|i| colour_of(slice.widths[i]),
        lines: None,
        bar: &|t| colour_of(narrowest * (t * decades).exp()),
        marks,
    };
    draw_map(canvas, slice, at, &map);
}

fn draw_map(canvas: &mut Canvas, slice: &Slice, (x, y): (usize, usize), map: &Map) {
    let (left, top) = (x + NUMBERS, y + HEAD);
    for (line, title) in map.title.iter().enumerate() {
        canvas.text(left, y + line * (TEXT_HEIGHT + 4), title);
    }
    for j in 0..slice.height {
        for i in 0..slice.width {
            let at = j * slice.width + i;
            let mut colour = (map.colour)(at);
            if map.lines.is_some_and(|step| slice.crosses(i, j, |d| (d / step).floor() as i64)) {
                colour = mix(colour, INK, 0.45);
            }
            // The border of a subspace is drawn after the lines, so that it stays visible if a line runs along it.
            if slice.borders[at] {
                colour = mix(colour, BORDER, 0.6);
            }
            // A slice counts its rows from below, a canvas from above.
            canvas.put(left + i, top + slice.height - 1 - j, colour);
        }
    }
    // The surface is drawn last and two pixels wide.
    for j in 0..slice.height {
        for i in (0..slice.width).filter(|i| slice.crosses(*i, j, |d| i64::from(d < 0.0))) {
            canvas.fill(left + i, top + (slice.height - 1 - j).saturating_sub(1), 2, 2, INK);
        }
    }
    canvas.frame(left, top, slice.width, slice.height);
    draw_axes(canvas, slice, left, top);
    draw_bar(canvas, left + slice.width + GAP, top, slice.height.max(BAR_HEIGHT_MIN), map);
}

/// Colour of subspace borders.
const BORDER: Colour = [110, 110, 120];

fn draw_axes(canvas: &mut Canvas, slice: &Slice, left: usize, top: usize) {
    let name = |axis: usize| ["x", "y", "z"][axis];
    let (u, v) = slice.axes;
    let bottom = top + slice.height;
    for (place, text) in ticks(slice.corner[u], slice.width, slice.pixel) {
        canvas.fill(left + place, bottom, 1, 6, INK);
        let x = (left + place).saturating_sub(Canvas::text_width(&text) / 2);
        canvas.text(x, bottom + 8, &text);
    }
    for (place, text) in ticks(slice.corner[v], slice.height, slice.pixel) {
        let y = bottom - 1 - place;
        canvas.fill(left - 6, y, 6, 1, INK);
        let x = (left - 10).saturating_sub(Canvas::text_width(&text));
        canvas.text(x, y.saturating_sub(TEXT_HEIGHT / 2), &text);
    }
    let across = 3 - u - v;
    let plane = mm(slice.corner[across]);
    let axes = format!("{} right, {} up, at {} = {plane} mm", name(u), name(v), name(across));
    canvas.text(left, bottom + 8 + TEXT_HEIGHT + 6, &axes);
}

fn draw_bar(canvas: &mut Canvas, x: usize, y: usize, height: usize, map: &Map) {
    for j in 0..height {
        let t = (j as f64 + 0.5) / height as f64;
        canvas.fill(x, y + height - 1 - j, BAR, 1, (map.bar)(t));
    }
    canvas.frame(x, y, BAR, height);
    for (t, text) in &map.marks {
        let at = y + ((1.0 - t) * (height - 1) as f64).round() as usize;
        canvas.fill(x + BAR, at, 5, 1, INK);
        canvas.text(x + BAR + 9, at.saturating_sub(TEXT_HEIGHT / 2), text);
    }
}

/// Returns positions and texts of round numbers of millimetres along an axis of `n` pixels.
fn ticks(from: f64, n: usize, pixel: f64) -> Vec<(usize, String)> {
    let length = n as f64 * pixel;
    let step = round_step((length / TICKS).max(TICK_PIXELS * pixel));
    let first = (from / step).ceil() as i64;
    // Each tick is computed from its own number: summed steps would sum their rounding, and 0 would not be 0.
    let places = (first..).map(|k| k as f64 * step).take_while(|at| *at < from + length);
    places.map(|at| (((at - from) / pixel) as usize, mm(at))).collect()
}

/// Returns the next greater of 1, 2, 5, 10, ...
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0].into_iter();
    // Above 5 the next one is 1 of the decade above.
    factors.map(|f| f * power).find(|s| *s >= least).unwrap_or(10.0 * power)
}

/// Formats metres as millimetres, without insignificant digits.
fn mm(metres: f64) -> String {
    let mm = metres * 1e3;
    // Three significant digits, from 0.0001 to 1,000 mm.
    let decimals = if mm == 0.0 { 0.0 } else { (2.0 - mm.abs().log10().floor()).clamp(0.0, 6.0) };
    let text = format!("{mm:.*}", decimals as usize);
    let short =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}
