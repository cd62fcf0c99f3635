//! Gmsh's format MSH, versions 2.2 and 4.1, ASCII or binary.
//!
//! Own code: no maintained crate reads version 2.2. Vertices are numbered in the order of the file's nodes, whose tags
//! may be any numbers. Elements with straight edges are read: triangles, quadrilaterals and volume cells.

mod numbers;

use glam::Vec3;

use super::{
    cells::{CellKind, Cells},
    mesh_file::MeshFile,
    polygon::Faces,
    read_error::{MeshReadError, unexpected},
    read_room::ReadRoom,
};
use numbers::{Numbers, Version};

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshReadError> {
    let mut room = ReadRoom::of(bytes);
    let mut file = Numbers::after_header(bytes)?;
    let mut nodes = Nodes::default();
    while let Some(section) = file.section() {
        match section {
            b"Nodes" => {
                nodes = Nodes::read(&mut file, &mut room)?;
                file.end_section("Nodes")?;
            }
            b"Elements" => return elements(file, nodes, &mut room),
            b"ParametricNodes" => {
                return Err(unexpected(file.place(), "a section Nodes", Some(section)));
            }
            other => file.skip_section(other),
        }
    }
    Err(unexpected(file.place(), "a section Elements", None))
}

/// The nodes of a file.
#[derive(Default)]
struct Nodes {
    positions: Vec<Vec3>,
    /// Tag and position in `positions` of each node, by ascending tags.
    by_tag: Vec<(u64, u32)>,
}

impl Nodes {
    fn read(file: &mut Numbers, room: &mut ReadRoom) -> Result<Nodes, MeshReadError> {
        let place = file.place();
        let n_blocks = match file.version() {
            Version::V2 => 1,
            Version::V4 => file.size("the number of blocks")?,
        };
        let n = file.count("the number of nodes")?;
        file.check_fits(n, "nodes", 1, 3)?;
        if file.version() == Version::V4 {
            file.size("the least tag")?;
            file.size("the greatest tag")?;
        }
        let mut positions: Vec<Vec3> = room.vec(n, "nodes", place)?;
        let mut by_tag = room.vec(n, "nodes", place)?;
        for _ in 0..n_blocks {
            match file.version() {
                Version::V2 => {
                    for i in 0..n {
                        by_tag.push((file.tag("a node's number")?, i as u32));
                        positions.push(file.point()?);
                    }
                }
                Version::V4 => {
                    let dimension = file.int("the dimension of an entity")?;
                    file.int("the tag of an entity")?;
                    let is_parametric = file.int("0 or 1")? != 0;
                    let n_block = file.size("the number of nodes in the block")?;
                    let first = positions.len() as u64;
                    // Compared before anything is added, so that the arrays do not grow.
                    file.check_at_most("nodes", n - first, n_block)?;
                    for i in first..first + n_block {
                        by_tag.push((file.tag("a node's tag")?, i as u32));
                    }
                    let n_parameters = if is_parametric { dimension.clamp(0, 3) } else { 0 };
                    for _ in 0..n_block {
                        positions.push(file.point()?);
                        for _ in 0..n_parameters {
                            file.coordinate("a parameter")?;
                        }
                    }
                }
            }
        }
        file.check_count("nodes", n, positions.len() as u64)?;
        by_tag.sort_unstable();
        if let Some(pair) = by_tag.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let got = format!("{} twice", pair[0].0);
            return Err(unexpected(place, "nodes of different tags", Some(got.as_bytes())));
        }
        Ok(Nodes { positions, by_tag })
    }

    fn with_tag(&self, tag: u64) -> Option<u32> {
        // Most files number their nodes without gaps.
        let first = self.by_tag.first()?.0;
        let near = usize::try_from(tag.checked_sub(first)?).ok();
        if let Some((found, node)) = near.and_then(|i| self.by_tag.get(i))
            && *found == tag
        {
            return Some(*node);
        }
        let i = self.by_tag.binary_search_by_key(&tag, |(tag, _)| *tag).ok()?;
        Some(self.by_tag[i].1)
    }
}

/// Gmsh's element types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementType {
    Point,
    Line,
    Triangle,
    Quadrilateral,
    Volume(CellKind),
}

impl ElementType {
    /// Type of Gmsh's number; the error is the name of a type that is not read.
    fn of_number(number: i64) -> Result<ElementType, String> {
        Err(match number {
            1 => return Ok(ElementType::Line),
            2 => return Ok(ElementType::Triangle),
            3 => return Ok(ElementType::Quadrilateral),
            4 => return Ok(ElementType::Volume(CellKind::Tetrahedron)),
            5 => return Ok(ElementType::Volume(CellKind::Hexahedron)),
            6 => return Ok(ElementType::Volume(CellKind::Wedge)),
            7 => return Ok(ElementType::Volume(CellKind::Pyramid)),
            15 => return Ok(ElementType::Point),
            8 | 9 | 10 | 11..=14 | 16..=19 => format!("an element of second order (type {number})"),
            20..=140 => format!("an element of higher order (type {number})"),
            _ => format!("an unknown element (type {number})"),
        })
    }

    fn n_nodes(self) -> usize {
        match self {
            ElementType::Point => 1,
            ElementType::Line => 2,
            ElementType::Triangle => 3,
            ElementType::Quadrilateral => 4,
            ElementType::Volume(kind) => kind.n_corners(),
        }
    }
}

fn elements(
    mut file: Numbers,
    nodes: Nodes,
    room: &mut ReadRoom,
) -> Result<MeshFile, MeshReadError> {
    // Two passes, so that the arrays are allocated once: the header does not declare the number of each type.
    let place = file.place();
    let (mut n_cells, mut n_corners, mut n_triangles) = (0, 0, 0);
    for_each_element(&mut file.clone(), |element, _| {
        match element {
            ElementType::Volume(kind) => {
                n_cells += 1;
                n_corners += kind.n_corners() as u64;
            }
            ElementType::Triangle => n_triangles += 1,
            ElementType::Quadrilateral => n_triangles += 2,
            ElementType::Point | ElementType::Line => {}
        }
        Ok(())
    })?;
    if n_cells > 0 {
        // Faces beside cells mark parts of the boundary.
        n_triangles = 0;
    }
    let mut cells = Cells::with_room(n_cells, n_corners, room, place)?;
    let mut faces = Faces::with_room(n_triangles, room, place)?;
    let (version, mut before) = (file.version(), (ElementType::Point, [0; 8]));
    for_each_element(&mut file, |element, tags| {
        // Version 2.2 repeats an element for each physical group that it belongs to.
        let mut this = (element, [0; 8]);
        this.1[..tags.len()].copy_from_slice(tags);
        if version == Version::V2 && this == std::mem::replace(&mut before, this) {
            return Ok(());
        }
        let mut corners = [0; 8];
        let corners = &mut corners[..tags.len()];
        for (corner, tag) in corners.iter_mut().zip(tags) {
            *corner = nodes.with_tag(*tag).ok_or_else(|| tag.to_string())?;
        }
        match element {
            ElementType::Volume(kind) => cells.push(kind, corners),
            ElementType::Triangle | ElementType::Quadrilateral if n_cells == 0 => {
                let is_face = faces.push_polygon(corners);
                debug_assert!(is_face);
            }
            _ => {}
        }
        Ok(())
    })?;
    file.end_section("Elements")?;
    MeshFile::new(nodes.positions, faces, cells, room)
}

/// Passes each element's type and the tags of its nodes. An error of `visit` is a tag that no node has.
fn for_each_element(
    file: &mut Numbers,
    mut visit: impl FnMut(ElementType, &[u64]) -> Result<(), String>,
) -> Result<(), MeshReadError> {
    let n_blocks = match file.version() {
        Version::V2 => u64::MAX,
        Version::V4 => file.size("the number of blocks")?,
    };
    let n = file.count("the number of elements")?;
    file.check_fits(n, "elements", 2, 0)?;
    if file.version() == Version::V4 {
        file.size("the least tag")?;
        file.size("the greatest tag")?;
    }
    let (mut n_read, mut n_blocks_read) = (0, 0);
    // Version 2.2 does not declare its blocks: a text has one for each element, a binary file one for a run of them.
    while n_blocks_read < n_blocks && (n_read < n || file.version() == Version::V4) {
        let block = file.element_block()?;
        let element = ElementType::of_number(block.element_type).map_err(|name| {
            let expected = "triangles, quadrilaterals, tetrahedra, hexahedra, prisms or pyramids";
            MeshReadError::Unexpected {
                place: file.place(),
                expected: expected.to_owned(),
                got: name,
            }
        })?;
        file.check_at_most("elements", n - n_read, block.n_elements)?;
        for _ in 0..block.n_elements {
            let place = file.place();
            if !block.is_tagged {
                file.tag("an element's number")?;
                for _ in 0..block.n_tags {
                    file.tag("a tag of an element")?;
                }
            }
            let mut tags = [0; 8];
            let tags = &mut tags[..element.n_nodes()];
            for tag in &mut *tags {
                *tag = file.tag("a node's tag")?;
            }
            visit(element, tags)
                .map_err(|tag| unexpected(place, "the tag of a node", Some(tag.as_bytes())))?;
        }
        n_read += block.n_elements;
        n_blocks_read += 1;
    }
    file.check_count("elements", n, n_read)
}

#[cfg(test)]
mod tests;
