//! The HTTP port: metrics, the health page, the live view's files, and the live view itself as grpc-web.

pub mod browser_calls;
pub mod serve;
pub mod viewer_files;
