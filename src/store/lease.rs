//! Which server owns a scene, where several serve one data folder: claims of scenes, and signs of life of servers.
//!
//! A scene is owned by (server, epoch). `leases/scenes/ID/EPOCH` is a claim, which is never changed: the newest one counts,
//! and the next epoch's is put where there is none yet, so that of two servers one gets it. `leases/servers/ID` is a
//! server's sign of life, which it writes again and again for all its scenes. Nobody waits for a lock that a stopped server
//! holds, and no times of day are compared.
//!
//! What holds (`tests/model.rs` explores all orders of all steps, and finds what each rule is for):
//! 1. **Nothing acknowledged is lost.** An owner acknowledges a change when its record is on the disk and the newest claim
//!    was *then* its own. A claimer reads the files when its claim is there. So what was acknowledged is in what it reads,
//!    however long anybody was stopped in between. No clock has a part in this.
//! 2. **No two answer at a time.** An owner answers until `basis + term - margin`; `basis` is its clock before it wrote the
//!    sign of life after which it found its claims to be the newest ones. Another claims when it has seen no new sign for
//!    `term`, and looks once more afterwards: a sign that is new then is waited for as long. Later signs do not count, as
//!    their writer finds the claim. The margin is for clocks of unequal speed. A scene that was taken in is served after
//!    one more look at its newest claim: signs of life that came in between looked at those that were there before.
//! 3. **What a stale owner writes later is not read.** An owner begins with a journal and a snapshot of its own epoch. Files
//!    have their epoch in their number: those of an older epoch count for nothing from the first record of a later one on.

pub mod claim;
pub mod claim_folder;
pub mod server_beat;
pub mod term;
#[cfg(test)]
mod tests;
