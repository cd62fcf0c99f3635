//! The HTTP port: metrics, health as a page and over gRPC, the live view's files, and the live view itself as grpc-web.

pub mod browser_calls;
mod connection_use;
mod exposition;
mod health_page;
pub mod serve;
pub mod viewer_files;
mod web_places;
