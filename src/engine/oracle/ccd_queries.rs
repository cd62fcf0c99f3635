//! Continuous collision queries with known results, as published with Tight-Inclusion (Wang et al., TOG 40(5), 2021):
//! every 8 rows one query, 7 columns: x, y, z as numerator and denominator, then the truth.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use glam::DVec3;

use super::{rational::nearest_f64, shared_data};

/// Kinds of features in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Points are (vertex, a, b, c).
    VertexFace,
    /// Points are (a0, a1, b0, b1).
    EdgeEdge,
}

/// A query with its published result.
#[derive(Clone, Debug)]
pub struct CcdQuery {
    /// Kind of the features.
    pub kind: QueryKind,
    /// Points at the start of the step.
    pub t0: [DVec3; 4],
    /// Points at the end of the step.
    pub t1: [DVec3; 4],
    /// True if the features touch, by exact arithmetic on the numbers of the file.
    pub touches: bool,
    /// True if every coordinate is the file's rational number exactly, not only the `f64` nearest to it.
    pub exact: bool,
}

/// The queries of one file.
#[derive(Clone, Debug)]
pub struct QueryFile {
    /// Path relative to the folder that was read.
    pub name: String,
    /// Queries in the order of the file.
    pub queries: Vec<CcdQuery>,
}

/// Returns the folder named by `PALPATE_CCD`, or `ccd` of the shared data.
pub fn query_folder() -> Option<PathBuf> {
    match env::var_os("PALPATE_CCD") {
        Some(folder) => Some(folder.into()),
        None => Some(shared_data()?.join("ccd")),
    }
}

/// Reads every `.csv` file in a folder named `vertex-face` or `edge-edge`, at any depth, by name.
///
/// # Errors
/// Returns the file's name, line, expected and found content if a file cannot be read or does not have the format.
pub fn read_queries(folder: &Path) -> Result<Vec<QueryFile>, String> {
    let mut paths = Vec::new();
    collect(folder, &mut paths).map_err(|e| format!("{}: {e}", folder.display()))?;
    // The order of a folder's files differs between systems; tests need one order.
    paths.sort();
    let read = |path: &PathBuf| {
        let kind = kind_of(path)?;
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let parsed = fs::read_to_string(path).map_err(|e| e.to_string());
        let parsed = parsed.and_then(|text| parse(kind, &text));
        Some(match parsed {
            Ok(queries) => Ok(QueryFile { name, queries }),
            Err(e) => Err(format!("{name}: {e}")),
        })
    };
    paths.iter().filter_map(read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|e| e == "csv") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Kind by the nearest folder above that names one.
fn kind_of(path: &Path) -> Option<QueryKind> {
    path.ancestors().skip(1).find_map(|folder| match folder.file_name()?.to_str()? {
        "vertex-face" => Some(QueryKind::VertexFace),
        "edge-edge" => Some(QueryKind::EdgeEdge),
        _ => None,
    })
}

/// # Errors
/// Returns the line, expected and found content if the text does not have the format.
pub fn parse(kind: QueryKind, text: &str) -> Result<Vec<CcdQuery>, String> {
    let mut rows = Vec::new();
    // Line numbers are the file's, empty lines included.
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        rows.push(row(line).map_err(|e| format!("line {}: {e}", i + 1))?);
    }
    if rows.len() % 8 != 0 {
        return Err(format!("{} rows, expected a multiple of 8", rows.len()));
    }
    let query = |rows: &[Row]| CcdQuery {
        kind,
        t0: std::array::from_fn(|k| rows[k].point),
        t1: std::array::from_fn(|k| rows[k + 4].point),
        touches: rows[0].touches,
        // The published truth is that of the rationals; a grazing query may differ if rounding moved a point.
        exact: rows.iter().all(|r| r.exact),
    };
    Ok(rows.chunks_exact(8).map(query).collect())
}

struct Row {
    point: DVec3,
    exact: bool,
    touches: bool,
}

fn row(line: &str) -> Result<Row, String> {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    if columns.len() != 7 {
        return Err(format!("{} columns, expected 7", columns.len()));
    }
    let touches = match columns[6] {
        "0" => false,
        "1" => true,
        other => return Err(format!("truth {other:?}, expected 0 or 1")),
    };
    let mut row = Row { point: DVec3::ZERO, exact: true, touches };
    for axis in 0..3 {
        let (numerator, denominator) = (columns[2 * axis], columns[2 * axis + 1]);
        let (value, exact) = nearest_f64(numerator, denominator)
            .ok_or_else(|| format!("{numerator}/{denominator} is no rational number"))?;
        row.point[axis] = value;
        row.exact &= exact;
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_rows_are_a_query() {
        let row = "1,2,-3,4,36893488147419103232,18446744073709551616,1\n";
        let queries = parse(QueryKind::EdgeEdge, &row.repeat(16)).expect("two queries");
        assert_eq!(queries.len(), 2);
        assert_eq!(queries[1].t1[3], DVec3::new(0.5, -0.75, 2.0));
        assert!(queries[0].touches && queries[0].exact);
        assert!(
            !parse(QueryKind::EdgeEdge, &row.replace("1,2", "1,3").repeat(8)).unwrap()[0].exact
        );
    }

    #[test]
    fn what_is_no_query_is_refused_by_line() {
        let row = "1,2,-3,4,0,1,1\n";
        let refused = |text: String| parse(QueryKind::VertexFace, &text).expect_err("refused");
        assert!(refused(row.repeat(7)).contains("7 rows"));
        assert!(refused(row.repeat(3) + "1,2,3\n").contains("line 4: 3 columns"));
        assert!(refused(row.replace("0,1,1", "0,0,1")).contains("0/0"));
        assert!(refused(row.replace(",1\n", ",2\n")).contains("truth"));
        assert!(refused(row.replace("-3", "x")).contains("x/4"));
    }
}
