//! Ownership of scenes by servers that share a data folder or a bucket: claims of scenes, and heartbeats of servers.
//!
//! A scene is owned by (server, epoch). `leases/scenes/ID/EPOCH` is a claim, which never changes: the newest claim is
//! valid, and the claim of the next epoch is written only if there is none yet, so that one of two servers gets it.
//! `leases/servers/ID` is a server's heartbeat, which the server writes repeatedly for all its scenes. No server waits
//! for a lock that a stopped server holds, and no times of day are compared.
//!
//! Claims of a deleted scene stay, so that no epoch of its id is given twice as long as a server runs that may have
//! known it. In a folder the first server that starts after all others have ended cleanly removes them: it finds a lock
//! free that each server holds, also while it is stopped, and finds no heartbeat. In an object store nothing shows
//! this, and the claims stay.
//!
//! `leases/scenes/ID/made` exists once the files of a new scene do. Without it, a claim on a scene without files
//! belonged to a server that ended before it had made them, and the id is free again; with it the files are missing,
//! and servers that are asked for the scene report that.
//!
//! Guarantees (`tests/model.rs` explores all orders of all steps, and shows the purpose of each rule):
//! 1. **No acknowledged change is lost.** An owner acknowledges a change if its record is on the disk and the newest
//!    claim was *then* its own. A claimer reads the files once its claim exists. So its read includes every
//!    acknowledged change, however long any server was stopped in between. No clock is involved.
//! 2. **No two servers answer at a time.** An owner answers until `basis + term - margin`; `basis` is its clock before
//!    it wrote the heartbeat after which it found its claims to be the newest. Another server claims when it has seen
//!    no new heartbeat for `term`, and looks once more afterwards: if there is a new heartbeat then, it waits for
//!    `term` again. Later heartbeats do not count, because their writer finds the claim. The margin covers clocks of
//!    unequal speed. A scene that was loaded is served after one more look at its newest claim: the looks after
//!    heartbeats in between covered only the scenes that were served then. No server waits for a claim that releases a
//!    scene: before its owner writes it, the owner stops answering. If the owner learns that the outcome of that write
//!    is unknown, it still answers nothing and writes the claim again, until that claim or another server's exists. Nor
//!    does it continue with the old claim if it is asked for the scene again: it claims the next epoch, whose name is
//!    that of the claim that may still arrive.
//! 3. **Late writes of a stale owner are not read.** An owner begins with a journal and a snapshot of its own epoch,
//!    and writes into generations of that epoch only. Files have their epoch in their number: files of an older epoch
//!    are invalid from the first record of a later epoch on.
//! 4. **A claimer that was overtaken writes nothing.** It looks at its claim once more after it has read the files and
//!    before it writes the first: a server that was stopped until others had claimed the scene may have read their
//!    files, and would continue after them. If its claim was the newest then, every later claimer reads at least what
//!    it has read. A folder that holds files of a later epoch refuses it too.
//! 5. **Files may disappear while a claimer reads.** An owner removes files that its newer files have made needless,
//!    also a stale owner. A claimer that misses a listed file lists and reads again.
//!
//! **On an object store** the same guarantees follow from those of S3: a read or a list that begins after a put was
//! answered sees the result of the put, for every client, and of several puts with `If-None-Match: *` one succeeds. *1*
//! rests on four moments in their order: the owner's record is put (answered); after that the owner lists the claims
//! and sees none newer, so the put of a newer claim has not happened yet; it happens, and is answered, later; after
//! that the claimer lists and reads, and sees the record. *2* needs only that a heartbeat that was put before a claim
//! is seen by a look after that claim. Unlike a folder, S3 may execute a request after its sender has given it up. Each
//! kind of late request is harmless:
//! - a claim is valid from its put on, also if its server did not learn the outcome: that server finds itself to be the
//!   owner when it is asked next, and the previous owner finds that at its next look. For a claim that releases a
//!   scene, see *2*;
//! - a late heartbeat, even if it replaces a newer one, differs from the last one seen: a claimer waits longer;
//! - a late record was not acknowledged. Its journal gets no further record: the next journal begins with the same
//!   number, and from there on it alone is valid. Until then its change has an unknown outcome, and its client has
//!   received that answer;
//! - a late removal or snapshot has a generation that no server uses again.

pub mod claim;
pub mod claim_folder;
pub mod server_beat;
pub mod term;
#[cfg(test)]
mod tests;
