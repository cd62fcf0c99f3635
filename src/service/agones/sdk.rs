//! Protocol of the sidecar, as generated from `proto/agones`.

#![allow(missing_docs, dead_code, clippy::all)]

tonic::include_proto!("agones.dev.sdk");

pub mod beta {
    tonic::include_proto!("agones.dev.sdk.beta");
}
