//! What a server survives, and what its other clients notice of it.

mod floods;
mod stops;
