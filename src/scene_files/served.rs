//! The scenes of a running server, as a table or JSON.

use serde::Serialize;

use crate::{geometry::short_number::grouped, proto::Scene};

/// A scene as its server describes it.
#[derive(Debug, Serialize)]
pub(super) struct ServedScene {
    id: String,
    durable: bool,
    /// True while its indices are rebuilt after three failures: changes and ticks are refused.
    quarantined: bool,
    tissues: Vec<ServedTissue>,
    tools: Vec<ServedTool>,
    /// Tools whose fields are being built.
    building: Vec<String>,
}

/// A tissue of such a scene.
#[derive(Debug, Serialize)]
struct ServedTissue {
    id: u32,
    name: String,
    vertices: u32,
    triangles: u32,
    geometry_revision: u64,
    topology_revision: u64,
    /// Revisions that survive a crash of the server; `None` in a scene that is not durable.
    durable_geometry_revision: Option<u64>,
    durable_topology_revision: Option<u64>,
}

/// A tool of such a scene.
#[derive(Debug, Serialize)]
struct ServedTool {
    id: u32,
    name: String,
    links: usize,
}

impl ServedScene {
    pub(super) fn new(scene: Scene) -> ServedScene {
        let tissues = scene.tissues.into_iter().map(|tissue| ServedTissue {
            id: tissue.tissue_id,
            name: tissue.name,
            vertices: tissue.vertices,
            triangles: tissue.triangles,
            geometry_revision: tissue.geometry_revision,
            topology_revision: tissue.topology_revision,
            durable_geometry_revision: tissue.durable_geometry_revision,
            durable_topology_revision: tissue.durable_topology_revision,
        });
        let tools = scene.tools.into_iter().map(|tool| ServedTool {
            id: tool.tool_id,
            name: tool.name,
            links: tool.links.len(),
        });
        ServedScene {
            id: scene.scene_id,
            durable: scene.durable,
            quarantined: scene.quarantined,
            tissues: tissues.collect(),
            tools: tools.collect(),
            building: scene.field_builds.into_iter().map(|build| build.tool).collect(),
        }
    }

    /// Returns a row for each tissue, the first with the scene's own columns.
    fn rows(&self) -> Vec<[String; 7]> {
        let kept = match (self.quarantined, self.durable) {
            (true, _) => "quarantined",
            (false, true) => "yes",
            (false, false) => "no",
        };
        let tools = self.tools.iter().map(|tool| match tool.links {
            1 => tool.name.clone(),
            n => format!("{} ({n} links)", tool.name),
        });
        let building = self.building.iter().map(|tool| format!("{tool} (building)"));
        let tools = tools.chain(building).collect::<Vec<_>>().join(", ");
        let mut rows: Vec<_> = self.tissues.iter().map(ServedTissue::row).collect();
        if rows.is_empty() {
            rows.push(std::array::from_fn(|_| String::new()));
        }
        (rows[0][0], rows[0][1], rows[0][6]) = (self.id.clone(), kept.to_owned(), tools);
        rows
    }
}

impl ServedTissue {
    fn row(&self) -> [String; 7] {
        let (name, triangles) = (self.name.clone(), grouped(self.triangles));
        let (moved, cut) = (grouped(self.geometry_revision), grouped(self.topology_revision));
        [String::new(), String::new(), name, triangles, moved, cut, String::new()]
    }
}

/// Columns of numbers, which are aligned on the right.
const NUMBERS: std::ops::Range<usize> = 3..6;

/// Returns the scenes as an aligned table.
pub(super) fn table(scenes: &[ServedScene]) -> String {
    let head = ["scene", "durable", "tissue", "triangles", "deformed", "cut", "tools"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(scenes.iter().flat_map(ServedScene::rows));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if NUMBERS.contains(&column) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
