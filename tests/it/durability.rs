//! Data that survives a server: kills, restarts, damaged files and disks that fail.

mod damage;
mod disks;
mod files;
#[cfg(unix)]
mod folders;
mod kills;
mod model;
mod recovery;
mod restarts;
