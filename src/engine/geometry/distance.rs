//! Closest points of points, segments and triangles.

mod edge_lanes;
mod edge_pairs;
pub mod point_triangle;
pub mod point_triangles;
pub mod segment_segment;
pub mod tangent_planes;
pub mod triangle_triangle;
