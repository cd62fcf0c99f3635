//! What survives a server: kills, restarts, damaged files and disks that fail.

mod damage;
mod disks;
mod files;
mod kills;
mod model;
mod recovery;
mod restarts;
