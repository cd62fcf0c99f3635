//! Whole programs over real sockets.

mod demo;
