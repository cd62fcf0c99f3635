//! The contract of `proto/palpate/v1`, as generated.

#![allow(missing_docs, clippy::all)]

tonic::include_proto!("palpate.v1");

/// The contract as an encoded `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/palpate_descriptors.bin"));
