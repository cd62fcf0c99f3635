//! Rows and numbers for people.

use std::fmt::Write as _;

/// Appends one aligned line of a table.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<20}{value}");
}

/// Returns the columns of a row: the mean and the percentiles.
pub fn columns(values: [String; 7]) -> String {
    values.map(|v| format!("{v:>10}")).concat()
}
