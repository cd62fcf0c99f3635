//! The contract of `proto/palpate/v1`, as generated.

#![allow(missing_docs, clippy::all)]

tonic::include_proto!("palpate.v1");

/// The contract as an encoded `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/palpate_descriptors.bin"));

/// The schemas of `proto/foxglove`, which recordings are seen by.
pub mod foxglove {
    tonic::include_proto!("foxglove");
}

/// The contract, the messages of recordings and those schemas, as an encoded `FileDescriptorSet`.
pub const RECORDING_DESCRIPTORS: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/recording_descriptors.bin"));
