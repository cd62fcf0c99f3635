//! What a server survives, and what its other clients notice of it.

mod disk;
mod felt;
mod floods;
// It is systemd, for which the server has a socket.
#[cfg(unix)]
mod hogs;
mod stops;
