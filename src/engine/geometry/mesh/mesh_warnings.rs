//! Warnings about a mesh: the mistakes that are easily made with a file, for a person to read.

use super::report::MeshReport;
use crate::geometry::short_number::ShortNumber;

/// Range of longest sides with no doubt about the unit, metres: a needle's tip and a body.
const LONGEST_USUAL_M: (f64, f64) = (0.0005, 2.5);
/// Units of files, and the longest side of most organs and instruments, metres: of several units that would suit a
/// mesh, the message names the first for which the mesh is at least that long.
const UNITS: [(&str, f64); 3] = [("millimetres", 0.001), ("centimetres", 0.01), ("inches", 0.0254)];
const LONGEST_LIKELY_M: f64 = 0.02;

impl MeshReport {
    /// Returns what is unusual about the mesh and what follows from it. Each text completes "the mesh ...". Empty for
    /// one closed body of a usual size that was stored as it came.
    pub fn warnings(&self) -> Vec<String> {
        let edges = |n| counted(n, "edge");
        let triangles = |n| counted(n, "triangle");
        let all_reversed = self.reversed_triangles == self.triangles;
        let some_reversed = if all_reversed { 0 } else { self.reversed_triangles };
        [
            self.unit_doubt().map(|doubt| format!("may be in another unit: {doubt}")),
            edges(self.open_edges).map(|n| {
                format!(
                    "is open, with one triangle at {n}: inside is decided by the winding number, and depths near \
                     these edges are uncertain (fill_holes_m closes holes)"
                )
            }),
            edges(self.non_manifold_edges).map(|n| format!("has more than two triangles at {n}")),
            edges(self.inconsistent_edges)
                .map(|n| format!("has no consistent side: triangles disagree in winding at {n}")),
            (self.bodies > 1).then(|| {
                format!("has {} bodies: inside is decided by the winding number", self.bodies)
            }),
            edges(self.welded_edges).map(|n| {
                format!(
                    "has different vertices on the two sides of {n}, which count as joined while the positions are \
                     equal (weld_m also joins those that differ a little)"
                )
            }),
            all_reversed.then(|| "was inside out: all triangles were reversed".to_owned()),
            triangles(some_reversed).map(|n| format!("had {n} wound against the rest, now reversed")),
            triangles(self.degenerate_triangles).map(|n| format!("has {n} without an area")),
            triangles(self.duplicate_triangles).map(|n| format!("has {n} more than once")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Text on why the mesh may be in another unit than declared; `None` for a mesh of a usual size.
    fn unit_doubt(&self) -> Option<String> {
        let longest = self.longest_side_m();
        if (LONGEST_USUAL_M.0..=LONGEST_USUAL_M.1).contains(&longest) {
            return None;
        }
        let would_suit =
            |metres: &f64| (LONGEST_LIKELY_M..=LONGEST_USUAL_M.1).contains(&(longest * metres));
        let likely = match longest < LONGEST_USUAL_M.0 {
            false => UNITS.into_iter().find(|(_, metres)| would_suit(metres)),
            // The mesh was scaled once too often.
            true => UNITS
                .map(|(name, metres)| (name, 1.0 / metres))
                .into_iter()
                .find(|(_, metres)| would_suit(metres)),
        };
        let guess = likely.map_or_else(String::new, |(name, factor)| match factor < 1.0 {
            true => {
                format!(", as of a mesh in {name}: multiply scale_to_m by {}", ShortNumber(factor))
            }
            false => format!(
                ", as of a mesh that was in metres: multiply scale_to_m by {}",
                ShortNumber(factor)
            ),
        });
        Some(format!("the longest side is {} m{guess}", ShortNumber(longest)))
    }
}

/// Returns a number with its noun, if it is not zero.
fn counted(n: u32, noun: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {noun}{}", if n == 1 { "" } else { "s" }))
}
