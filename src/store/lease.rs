//! Which server owns a scene, where several serve one data folder or one bucket: claims of scenes, and signs of life of
//! servers.
//!
//! A scene is owned by (server, epoch). `leases/scenes/ID/EPOCH` is a claim, which is never changed: the newest one counts,
//! and the next epoch's is put where there is none yet, so that of two servers one gets it. `leases/servers/ID` is a
//! server's sign of life, which it writes again and again for all its scenes. Nobody waits for a lock that a stopped server
//! holds, and no times of day are compared.
//!
//! Claims of a deleted scene stay, so that no epoch of its id is given twice as long as a server is there that may have known
//! it. In a folder the first server that comes when all have ended in good order removes them: a lock that each of them has,
//! also while it is stopped, says so, and that no sign of life is left. In an object store nothing does, and they stay.
//!
//! `leases/scenes/ID/made` is there once the files of a new scene are. Without it, a claim whose scene has no files was of
//! a server that came to its end before it had made them, and the id is free again; with it the files are away, and
//! whoever is asked for the scene says so.
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
//!    A claim that gives a scene up is waited out by nobody: before it puts one, its owner answers no more. Where it is told
//!    that it is not known whether the claim is there, it goes on to answer nothing and puts it again, until it is there or
//!    another's is. Nor does it go on with the old claim when it is asked for the scene anew: it claims the next epoch, whose
//!    place is that of the claim that may still come.
//! 3. **What a stale owner writes later is not read.** An owner begins with a journal and a snapshot of its own epoch, and
//!    writes into generations of that epoch alone. Files have their epoch in their number: those of an older epoch count for
//!    nothing from the first record of a later one on.
//! 4. **A taker that others have overtaken writes nothing.** It looks at its claim once more after it has read the files and
//!    before it writes the first: a server that was stopped until others had claimed the scene may have read what they wrote,
//!    and would go on after it. If its claim was the newest then, whoever claims later reads at least what it has read. A
//!    folder that holds files of a later epoch refuses it too.
//! 5. **Files may go while a taker reads.** An owner removes what its newer files have made needless, also one that is late.
//!    A taker that misses a file which was listed lists and reads anew.
//!
//! **On an object store** the same holds with what S3 promises: a read or a list that begins after a put was answered sees
//! what was put, whoever asks, and of several puts with `If-None-Match: *` one is done. *1* rests on four moments in their
//! order: the owner's record is put (answered); after that it lists the claims and sees none newer, so the put of a newer
//! claim is not done yet; it will be done, and answered, later; after that the claimer lists and reads, and sees the record.
//! *2* needs only that a sign that was put before a claim is seen by a look after that claim. What S3 has and a folder has
//! not is a request that is done after its sender has given it up. Of each kind it is harmless:
//! - a claim counts from when it is there, also for a server that was told that it is not known whether it is: that server
//!   finds itself to be the owner when it is asked next, and who it was taken from finds that at the next look. For one
//!   that ends a claim, see *2*;
//! - a sign of life that comes late, also in the place of a newer one, is another than was seen: a claimer waits longer;
//! - a record was not acknowledged. The journal gets no other one: the next begins with the same number, and from there
//!   on it alone counts. Until then its change is one of which its client was told that nobody knows;
//! - a removal or a snapshot is of a generation that nobody makes again.

pub mod claim;
pub mod claim_folder;
pub mod server_beat;
pub mod term;
#[cfg(test)]
mod tests;
