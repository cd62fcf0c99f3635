//! Mesh file formats, from bytes.
