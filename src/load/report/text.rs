//! Rows and numbers for people.

use std::fmt::Write as _;

/// Appends one aligned line of a table.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<20}{value}");
}

/// Groups digits: 12345 as 12,345.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

/// Returns the columns of a row: the mean and the percentiles.
pub fn columns(values: [String; 7]) -> String {
    values.map(|v| format!("{v:>10}")).concat()
}
