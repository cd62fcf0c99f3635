//! Faults that a server survives, and their effects on its other clients.

mod disk;
mod felt;
mod floods;
// The test stands in for systemd, for which the server has a Unix socket.
#[cfg(unix)]
mod hogs;
mod stops;
