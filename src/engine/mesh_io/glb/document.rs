//! The JSON of a glTF file: nodes, meshes, and where their numbers are.

use std::fmt;

use glam::{DMat4, DQuat, DVec3, Vec3};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use crate::mesh_io::{
    read_error::{FilePlace, MeshReadError, one_line, unexpected},
    read_room::ReadRoom,
};

/// Most memory of an object or array of the JSON, bytes: an array that grows holds its items thrice for a while.
const OBJECT_BYTES_MAX: u64 = 3 * size_of::<GltfNode>() as u64;
/// Most memory of a byte of JSON, bytes: a digit and a comma give a number of four bytes in an array that grows.
const BYTES_PER_JSON_BYTE_MAX: u64 = 6;
/// Extensions that a mesh can be read without.
const HARMLESS_EXTENSIONS: [&str; 4] =
    ["KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_"];

/// A glTF file, as far as it describes triangles.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Document {
    accessors: Vec<Accessor>,
    buffer_views: Vec<BufferView>,
    extensions_required: Obstacle,
    meshes: Vec<Mesh>,
    nodes: Vec<GltfNode>,
    scene: u32,
    scenes: Vec<GltfScene>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<u32>,
    #[serde(default)]
    byte_offset: u64,
    component_type: u32,
    count: u64,
    #[serde(rename = "type")]
    shape: AccessorShape,
    sparse: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum AccessorShape {
    #[serde(rename = "SCALAR")]
    Scalar,
    #[serde(rename = "VEC3")]
    Vec3,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BufferView {
    buffer: u32,
    #[serde(default)]
    byte_offset: u64,
    byte_length: u64,
    byte_stride: Option<u64>,
}

#[derive(Deserialize)]
struct Mesh {
    primitives: Vec<Primitive>,
}

/// Triangles of one material.
#[derive(Deserialize)]
struct Primitive {
    attributes: Attributes,
    indices: Option<u32>,
    mode: Option<u32>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GltfNode {
    children: Vec<u32>,
    mesh: Option<u32>,
    skin: Option<u32>,
    matrix: Option<Box<[f64; 16]>>,
    rotation: Option<[f32; 4]>,
    scale: Option<[f32; 3]>,
    translation: Option<[f32; 3]>,
}

#[derive(Deserialize)]
struct GltfScene {
    #[serde(default)]
    nodes: Vec<u32>,
}

/// The first required extension that a mesh cannot be read without.
#[derive(Default)]
struct Obstacle(Option<String>);

impl<'de> Deserialize<'de> for Obstacle {
    fn deserialize<D: Deserializer<'de>>(names: D) -> Result<Obstacle, D::Error> {
        names.deserialize_seq(Obstacle(None))
    }
}

/// Keeps one name: a list of all would be larger than its file.
impl<'de> Visitor<'de> for Obstacle {
    type Value = Obstacle;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("names of extensions")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut names: A) -> Result<Obstacle, A::Error> {
        while let Some(name) = names.next_element::<String>()? {
            if self.0.is_none() && !HARMLESS_EXTENSIONS.iter().any(|e| name.starts_with(e)) {
                self.0 = Some(name);
            }
        }
        Ok(self)
    }
}

/// Triangles of a primitive.
pub(super) struct TrianglePart {
    /// Accessor of the vertices.
    pub(super) positions: u32,
    /// Accessor of the corners; `None`: the vertices in order.
    indices: Option<u32>,
    pub(super) mode: TriangleMode,
}

/// Corners that make a primitive's triangles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TriangleMode {
    Triangles,
    Strip,
    Fan,
}

impl Primitive {
    /// Returns `None` for points and lines, and without vertices.
    fn part(&self) -> Option<TrianglePart> {
        let mode = match self.mode {
            None | Some(4) => TriangleMode::Triangles,
            Some(5) => TriangleMode::Strip,
            Some(6) => TriangleMode::Fan,
            Some(_) => return None,
        };
        Some(TrianglePart { positions: self.attributes.position?, indices: self.indices, mode })
    }
}

impl TrianglePart {
    pub(super) fn n_triangles(&self, n_corners: u64) -> u64 {
        match self.mode {
            TriangleMode::Triangles => n_corners / 3,
            TriangleMode::Strip | TriangleMode::Fan => n_corners.saturating_sub(2),
        }
    }
}

impl GltfNode {
    fn parent_from_node(&self) -> DMat4 {
        if let Some(matrix) = &self.matrix {
            return DMat4::from_cols_array(matrix);
        }
        let vector = |v: Option<[f32; 3]>, missing| v.map_or(missing, |v| Vec3::from(v).as_dvec3());
        let rotation =
            self.rotation.map_or(DQuat::IDENTITY, |r| DQuat::from_array(r.map(f64::from)));
        DMat4::from_scale_rotation_translation(
            vector(self.scale, DVec3::ONE),
            // Stored with the digits of f32. A zero quaternion gives NaN positions, which the validator rejects.
            rotation.normalize(),
            vector(self.translation, DVec3::ZERO),
        )
    }
}

impl Document {
    pub(super) fn read(
        json: &[u8],
        place: FilePlace,
        room: &mut ReadRoom,
    ) -> Result<Document, MeshReadError> {
        // An array may stand for an object.
        let n_objects = json.iter().filter(|b| matches!(b, b'{' | b'[')).count() as u64;
        let n_bytes = BYTES_PER_JSON_BYTE_MAX * json.len() as u64 + OBJECT_BYTES_MAX * n_objects;
        room.take(n_bytes, n_objects, "objects of JSON", place)?;
        let document: Document = serde_json::from_slice(json).map_err(|error| {
            MeshReadError::Reader { place, message: one_line(&error.to_string()) }
        })?;
        match &document.extensions_required.0 {
            None => Ok(document),
            Some(name) => {
                let expected = "triangles without extensions (export without compression)";
                Err(unexpected(place, expected, Some(name.as_bytes())))
            }
        }
    }

    /// Passes the triangles of each mesh of the scene, with the transform of its node.
    pub(super) fn for_each_mesh(
        &self,
        room: &mut ReadRoom,
        mut visit: impl FnMut(
            &mut dyn Iterator<Item = TrianglePart>,
            &DMat4,
        ) -> Result<(), MeshReadError>,
    ) -> Result<(), MeshReadError> {
        let place = FilePlace::Byte(0);
        let mut open: Vec<(u32, DMat4)> = room.vec(self.nodes.len() as u64, "nodes", place)?;
        let mut is_reached = room.vec(self.nodes.len() as u64, "nodes", place)?;
        is_reached.resize(self.nodes.len(), false);
        let mut reach = |node: u32, open: &mut Vec<_>, matrix: DMat4| {
            // The nodes of a scene are trees: a node that is reached twice would be in a circle.
            match is_reached.get_mut(node as usize) {
                Some(is_reached) if !*is_reached => {
                    *is_reached = true;
                    open.push((node, matrix));
                    Ok(())
                }
                _ => {
                    let expected = format!("each of {} nodes once", self.nodes.len());
                    Err(unexpected(place, &expected, Some(node.to_string().as_bytes())))
                }
            }
        };
        let missing = || unexpected(place, "a scene (export one, not a library of meshes)", None);
        let scene = self.scenes.get(self.scene as usize).ok_or_else(missing)?;
        for node in scene.nodes.iter().rev() {
            reach(*node, &mut open, DMat4::IDENTITY)?;
        }
        while let Some((node, scene_from_parent)) = open.pop() {
            let node = &self.nodes[node as usize];
            let scene_from_node = scene_from_parent * node.parent_from_node();
            if let Some(mesh) = node.mesh {
                let mesh = self.meshes.get(mesh as usize).ok_or_else(|| {
                    let expected = format!("a mesh below {}", self.meshes.len());
                    unexpected(place, &expected, Some(mesh.to_string().as_bytes()))
                })?;
                if node.skin.is_some() {
                    let expected = "meshes without a skin (apply the armature before exporting)";
                    return Err(unexpected(place, expected, Some(b"a skinned mesh")));
                }
                // Many nodes may share a mesh: the room also bounds the time.
                let n = mesh.primitives.len() as u64;
                room.take(n * size_of::<Primitive>() as u64, n, "parts of meshes", place)?;
                let parts = &mut mesh.primitives.iter().filter_map(Primitive::part);
                visit(parts, &scene_from_node)?;
            }
            for child in node.children.iter().rev() {
                reach(*child, &mut open, scene_from_node)?;
            }
        }
        Ok(())
    }

    pub(super) fn n_vertices(&self, part: &TrianglePart) -> Result<u64, MeshReadError> {
        Ok(self.accessor(part.positions)?.count)
    }

    pub(super) fn n_corners(&self, part: &TrianglePart) -> Result<u64, MeshReadError> {
        Ok(self.accessor(part.indices.unwrap_or(part.positions))?.count)
    }

    /// Vertices of a part, in the frame of its mesh.
    pub(super) fn points<'a>(
        &self,
        part: &TrianglePart,
        data: &'a [u8],
        place: FilePlace,
    ) -> Result<impl Iterator<Item = Vec3> + use<'a>, MeshReadError> {
        let items = self.items(part.positions, AccessorShape::Vec3, &[(FLOAT, 12)], data, place)?;
        Ok(items.map(|item| {
            Vec3::from_array(
                [0, 4, 8]
                    .map(|at| f32::from_le_bytes(item[at..at + 4].try_into().expect("four bytes"))),
            )
        }))
    }

    /// Vertex numbers of a part's corners.
    pub(super) fn corners<'a>(
        &self,
        part: &TrianglePart,
        data: &'a [u8],
        place: FilePlace,
    ) -> Result<impl Iterator<Item = u32> + use<'a>, MeshReadError> {
        const KINDS: [(u32, usize); 3] = [(5121, 1), (5123, 2), (5125, 4)];
        let (numbers, n_vertices) = match part.indices {
            Some(indices) => (self.items(indices, AccessorShape::Scalar, &KINDS, data, place)?, 0),
            None => (Items::default(), self.n_vertices(part)? as u32),
        };
        let numbers =
            numbers.map(|item| item.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte)));
        Ok(numbers.chain(0..n_vertices))
    }

    fn accessor(&self, i: u32) -> Result<&Accessor, MeshReadError> {
        self.accessors.get(i as usize).ok_or_else(|| {
            let expected = format!("an accessor below {}", self.accessors.len());
            unexpected(FilePlace::Byte(0), &expected, Some(i.to_string().as_bytes()))
        })
    }

    /// Items of an accessor. `kinds`: component types that are read, with the bytes of an item of each.
    fn items<'a>(
        &self,
        i: u32,
        shape: AccessorShape,
        kinds: &[(u32, usize)],
        data: &'a [u8],
        place: FilePlace,
    ) -> Result<Items<'a>, MeshReadError> {
        let refused = |expected: &str, got: String| {
            let expected = format!("accessor {i} {expected}");
            MeshReadError::Unexpected { place, expected, got }
        };
        let accessor = self.accessor(i)?;
        let kind = kinds.iter().find(|(kind, _)| *kind == accessor.component_type);
        let Some((_, n_item_bytes)) = kind.filter(|_| accessor.shape == shape) else {
            let names = "of vectors of floats, or of whole numbers";
            return Err(refused(names, format!("component type {}", accessor.component_type)));
        };
        if accessor.sparse.is_some() {
            return Err(refused("in full", "a sparse one".to_owned()));
        }
        if accessor.count == 0 {
            return Ok(Items::default());
        }
        let view = accessor.buffer_view.and_then(|view| self.buffer_views.get(view as usize));
        let view = view.filter(|view| view.buffer == 0);
        let Some(view) = view else {
            return Err(refused("in the file's own buffer", "none".to_owned()));
        };
        let stride = view.byte_stride.unwrap_or(*n_item_bytes as u64);
        let start = view.byte_offset.saturating_add(accessor.byte_offset);
        let end = stride
            .saturating_mul(accessor.count - 1)
            .saturating_add(start)
            .saturating_add(*n_item_bytes as u64);
        let view_end = view.byte_offset.saturating_add(view.byte_length).min(data.len() as u64);
        if end > view_end || stride < *n_item_bytes as u64 {
            let expected = format!("to end within {view_end} bytes, of items that do not overlap");
            return Err(refused(&expected, format!("{end} bytes, one every {stride}")));
        }
        Ok(Items {
            data: &data[start as usize..end as usize],
            stride: stride as usize,
            n_item_bytes: *n_item_bytes,
        })
    }
}

/// Component type of numbers with a fraction.
const FLOAT: u32 = 5126;

/// Equally spaced items.
#[derive(Default)]
struct Items<'a> {
    data: &'a [u8],
    stride: usize,
    n_item_bytes: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let item = self.data.get(..self.n_item_bytes).filter(|item| !item.is_empty())?;
        // The last item may end before its stride does.
        self.data = &self.data[self.stride.min(self.data.len())..];
        Some(item)
    }
}
