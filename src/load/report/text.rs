//! Rows, columns and numbers for people.

use std::fmt::Write as _;

use crate::geometry::short_number::grouped;

/// Width of a line; a longer word has a line of its own.
const WIDTH: usize = 100;
/// Width of the names at the left of a table.
const NAMES: usize = 22;

/// Appends one row of a table, with as many lines as its value needs.
pub fn row(text: &mut String, name: &str, value: &str) {
    let line = format!("  {name:<width$}{value}", width = NAMES - 2);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", wrapped(&line, NAMES));
}

/// Breaks lines between words where they get too long; the lines that follow begin with `indent` spaces.
pub fn wrapped(text: &str, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for (at, word) in line.split(' ').enumerate() {
            // A word alone in its line, or behind the name of a row, is not moved to a line of its own.
            let has_words = current.trim_end().len() > indent;
            if has_words && !word.is_empty() && current.len() + 1 + word.len() > WIDTH {
                lines.push(current.trim_end().to_owned());
                current = " ".repeat(indent);
            } else if at > 0 {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines.join("\n")
}

/// Appends a table of numbers: a name and its columns in each row, all columns as wide as they need to be.
pub fn columns(text: &mut String, rows: &[(&str, Vec<String>)]) {
    let n = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|(_, cells)| cells.get(at)).map(String::len).max();
    let widths: Vec<usize> = (0..n).map(|at| width(at).unwrap_or(0).max(MIN_COLUMN)).collect();
    for (name, cells) in rows {
        let _ = write!(text, "  {name:<width$}", width = NAMES - 2);
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
}

/// Least width of a column.
const MIN_COLUMN: usize = 8;

/// Returns microseconds: tenths below 100, whole ones above.
pub fn microseconds(us: f64) -> String {
    if us < 99.95 { format!("{us:.1}") } else { grouped(us.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_go_on_below_their_beginning() {
        let mut text = String::new();
        row(&mut text, "stiffness", &"word ".repeat(40));
        row(&mut text, "report", &"/a/path".repeat(20));
        assert!(text.lines().take(3).all(|line| line.len() <= WIDTH), "{text}");
        let starts: Vec<usize> =
            text.lines().map(|line| line.find(['w', '/']).expect("a value")).collect();
        assert_eq!(starts, [NAMES, NAMES, NAMES, NAMES], "{text}");
        assert_eq!(text.matches("word").count(), 40);
        assert_eq!(wrapped("  two  spaces\nstay", 4), "  two  spaces\nstay");
    }

    #[test]
    fn columns_stay_apart_at_any_magnitude() {
        let mut text = String::new();
        let times = |all: [f64; 3]| all.map(microseconds).to_vec();
        let rows = [
            ("microseconds", ["mean", "p50", "max"].map(str::to_owned).to_vec()),
            ("round trip", times([0.04, 99.96, 1e9])),
            ("tick", times([9.96, 1e8, 12.34])),
        ];
        columns(&mut text, &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>()[2..],
            ["0.0", "100", "1,000,000,000"]
        );
        assert_eq!(
            lines[2].split_whitespace().collect::<Vec<_>>()[1..],
            ["10.0", "100,000,000", "12.3"]
        );
    }
}
