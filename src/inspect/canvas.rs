//! A picture in memory: pixels, rectangles, letters, and its PNG file.

use std::{fs::File, io, path::Path};

use super::font;

/// Red, green, blue.
pub type Colour = [u8; 3];

/// Colour of lines and letters.
pub const INK: Colour = [20, 20, 24];
const PAPER: Colour = [255, 255, 255];
/// Scale of the letters.
const LETTER_SCALE: usize = 2;
/// Height of a line of text, pixels.
pub const TEXT_HEIGHT: usize = 8 * LETTER_SCALE;

/// Pixels in rows from the top.
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    /// Returns a white canvas.
    pub fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![PAPER; width * height] }
    }

    /// Sets a pixel; pixels outside the canvas are ignored.
    pub fn put(&mut self, x: usize, y: usize, colour: Colour) {
        // Clipping happens here, in one place: texts and marks at the border need no care.
        if x < self.width && y < self.height {
            self.pixels[y * self.width + x] = colour;
        }
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        for (i, j) in (y..y + height).flat_map(|j| (x..x + width).map(move |i| (i, j))) {
            self.put(i, j, colour);
        }
    }

    /// Draws a frame one pixel wide, just around the given rectangle.
    pub fn frame(&mut self, x: usize, y: usize, width: usize, height: usize) {
        // Callers leave space for numbers and titles at the left and above, so the corner is never at 0.
        self.fill(x - 1, y - 1, width + 2, 1, INK);
        self.fill(x - 1, y + height, width + 2, 1, INK);
        self.fill(x - 1, y, 1, height, INK);
        self.fill(x + width, y, 1, height, INK);
    }

    /// Draws text from its upper left corner.
    pub fn text(&mut self, x: usize, y: usize, text: &str) {
        // A built-in font, 5 by 8 pixels: a font file and its reader would be larger than the rest of this module.
        for (n, letter) in text.chars().enumerate() {
            for (column, bits) in font::columns(letter).into_iter().enumerate() {
                for row in (0..8).filter(|row| bits >> row & 1 == 1) {
                    let at = x + (n * font::ADVANCE + column) * LETTER_SCALE;
                    self.fill(at, y + row * LETTER_SCALE, LETTER_SCALE, LETTER_SCALE, INK);
                }
            }
        }
    }

    /// Returns the width of a text, pixels.
    pub fn text_width(text: &str) -> usize {
        text.chars().count() * font::ADVANCE * LETTER_SCALE
    }

    /// Writes the picture.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let file = io::BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}

/// Interpolates between two colours.
pub fn mix(from: Colour, to: Colour, t: f64) -> Colour {
    let t = t.clamp(0.0, 1.0);
    std::array::from_fn(|k| {
        (f64::from(from[k]) + (f64::from(to[k]) - f64::from(from[k])) * t).round() as u8
    })
}

/// Interpolates along a row of colours that are evenly spread over 0 to 1.
pub fn along(colours: &[Colour], t: f64) -> Colour {
    let last = colours.len() - 1;
    let at = t.clamp(0.0, 1.0) * last as f64;
    // At 1 the last pair of colours is used in full; there is none behind it.
    let i = (at as usize).min(last - 1);
    mix(colours[i], colours[i + 1], at - i as f64)
}
