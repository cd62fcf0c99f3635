//! Arbitrary bytes read as a GLB file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate::mesh_io::MeshFormat;
use palpate_fuzz::mesh_file;

fuzz_target!(|bytes: &[u8]| mesh_file::check(bytes, MeshFormat::Glb));
