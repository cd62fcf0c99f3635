//! A tissue's surface as its client knows it: from an export, with the client's own changes.

use std::collections::BTreeMap;

use glam::DVec3;
use palpate::proto::{ExportTissueResponse, export_tissue_response::Message};

/// Positions by vertex, triangles by id.
pub struct Surface {
    pub positions: Vec<DVec3>,
    pub triangles: BTreeMap<u32, [u32; 3]>,
}

impl Surface {
    pub fn of_export(messages: &[ExportTissueResponse]) -> Surface {
        let (mut positions, mut triangles) = (Vec::new(), BTreeMap::new());
        for message in messages {
            let Some(Message::Chunk(chunk)) = &message.message else { continue };
            let xyz = chunk.positions_m.chunks_exact(3);
            positions.extend(xyz.map(|p| DVec3::new(p[0].into(), p[1].into(), p[2].into())));
            let corners = chunk.triangles.chunks_exact(3).map(|t| [t[0], t[1], t[2]]);
            triangles.extend(chunk.triangle_ids.iter().copied().zip(corners));
        }
        Surface { positions, triangles }
    }

    /// Returns unit normals of vertices, weighted by the area of their triangles; zero if there is none.
    pub fn normals(&self) -> Vec<DVec3> {
        let mut normals = vec![DVec3::ZERO; self.positions.len()];
        for t in self.triangles.values() {
            let [a, b, c] = t.map(|v| self.positions[v as usize]);
            let normal = (b - a).cross(c - a);
            t.iter().for_each(|v| normals[*v as usize] += normal);
        }
        normals.into_iter().map(|n| n.try_normalize().unwrap_or(DVec3::ZERO)).collect()
    }

    /// Longest side of the bounding box, metres.
    pub fn length_m(&self) -> f64 {
        let (min, max) = self.bounds();
        (max - min).max_element()
    }

    pub fn bounds(&self) -> (DVec3, DVec3) {
        let min = self.positions.iter().copied().reduce(DVec3::min).expect("it has vertices");
        let max = self.positions.iter().copied().reduce(DVec3::max).expect("it has vertices");
        (min, max)
    }

    /// Returns the vertices within `radius_m` of a point, pushed by up to `push_m` there and less farther away.
    pub fn dented(&self, at: DVec3, radius_m: f64, push_m: DVec3) -> Vec<(u32, DVec3)> {
        let moved = self.positions.iter().zip(0..).filter_map(|(p, v)| {
            let near = 1.0 - p.distance_squared(at) / (radius_m * radius_m);
            (near > 0.0).then(|| (v, *p + push_m * (near * near)))
        });
        moved.collect()
    }

    /// Returns all vertices sheared and swollen by the cube of their positions, as polynomials of `t`.
    pub fn swayed(&self, t: f64) -> Vec<DVec3> {
        let (min, max) = self.bounds();
        let (centre, half) = (0.5 * (min + max), 0.5 * self.length_m());
        let sway = |p: &DVec3| {
            let u = (*p - centre) / half;
            let shift = DVec3::new(u.y * u.y - u.z, u.x * u.z, u.x * u.x * u.x - 0.5 * u.y);
            *p + shift * (0.02 * half * t * (2.0 - t))
        };
        self.positions.iter().map(sway).collect()
    }

    /// Returns the ids of the `n` triangles whose centres are nearest to a point, nearest first.
    pub fn nearest_triangles(&self, at: DVec3, n: usize) -> Vec<u32> {
        let centre = |t: &[u32; 3]| t.map(|v| self.positions[v as usize]).iter().sum::<DVec3>();
        let far = |t: &[u32; 3]| centre(t).distance_squared(3.0 * at);
        let mut near: Vec<(f64, u32)> =
            self.triangles.iter().map(|(id, t)| (far(t), *id)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.into_iter().take(n).map(|(_, id)| id).collect()
    }
}
