//! What a server survives, and what its other clients notice of it.

mod disk;
mod felt;
mod floods;
mod hogs;
mod stops;
