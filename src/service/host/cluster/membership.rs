//! This server among those that share a data folder or a bucket: its heartbeat, and the heartbeats it has seen of
//! others.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread::sleep,
    time::Duration,
};

use parking_lot::Mutex;

use crate::service::clock::lease_now_ns;
use crate::store::{
    lease::{
        claim::{ClaimHolder, SceneClaim},
        claim_folder::ClaimFolder,
        server_beat::{BeatFolder, ServerBeat},
        term::{LeaseTerm, SeenBeat},
    },
    scenes::scene_store::SceneStore,
};

/// This server's membership among the servers that share a store.
pub struct Membership {
    own: ClaimHolder,
    term: LeaseTerm,
    claims: ClaimFolder,
    beats: BeatFolder,
    /// Sequence number of this server's newest heartbeat.
    count: AtomicU64,
    /// Time until which this server answers for its scenes, nanoseconds of the lease clock.
    answers_until_ns: AtomicU64,
    /// Heartbeats seen, by server.
    seen: Mutex<HashMap<String, SeenServer>>,
    /// By scene: the claim put to end this server's claim, while it is unknown whether it is stored or still arrives.
    open_ends: Mutex<HashMap<String, SceneClaim>>,
    /// This server owns nothing any more, and sends no heartbeat.
    has_left: AtomicBool,
}

#[derive(Clone, Copy)]
struct SeenServer {
    beat: SeenBeat,
    /// The longer term of the two servers: its own and this server's.
    term: LeaseTerm,
}

/// Silence after which a server's heartbeat is removed, and time after that removal until its entry in `seen` is
/// removed: each start of a server has another id. A server that is asked about later is waited for as if it were new.
const FORGOTTEN_NS: u64 = 3_600_000_000_000;

impl SeenServer {
    fn silent_from_ns(&self) -> u64 {
        self.beat.silent_from_ns(self.term)
    }
}

impl Membership {
    /// Sends the first heartbeat. `address` is where clients of other servers are sent.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written to, or the system has no random numbers.
    pub fn join(store: &SceneStore, address: String, term: Duration) -> io::Result<Membership> {
        let mut id = [0; 8];
        getrandom::fill(&mut id)?;
        let server = format!("{:016x}", u64::from_le_bytes(id));
        let (claims, beats) = store.leases(&server)?;
        let joined = Membership {
            claims,
            beats,
            own: ClaimHolder { server, address },
            term: LeaseTerm::new(term),
            count: AtomicU64::new(0),
            answers_until_ns: AtomicU64::new(0),
            seen: Mutex::default(),
            open_ends: Mutex::default(),
            has_left: AtomicBool::new(false),
        };
        let basis_ns = joined.beat()?;
        joined.confirm(basis_ns);
        joined.look_around()?;
        Ok(joined)
    }

    /// This server's id and address.
    pub fn own(&self) -> &ClaimHolder {
        &self.own
    }

    /// Term of this server's leases.
    pub fn term(&self) -> LeaseTerm {
        self.term
    }

    /// Returns true while no other server can have taken this server's scenes, by its clock.
    pub fn answers(&self) -> bool {
        lease_now_ns() < self.answers_until_ns.load(Relaxed)
    }

    #[cfg(test)]
    pub fn answers_until_ns(&self) -> u64 {
        self.answers_until_ns.load(Relaxed)
    }

    /// Returns true if this server has ended in good order.
    pub fn has_left(&self) -> bool {
        self.has_left.load(Relaxed)
    }

    /// Sends a heartbeat. Returns the time before it was sent, for [`Membership::confirm`].
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn beat(&self) -> io::Result<u64> {
        let basis_ns = lease_now_ns();
        let count = self.count.fetch_add(1, Relaxed) + 1;
        let server = self.own.clone();
        self.beats.put(&ServerBeat { count, term_ms: self.term.ms(), server })?;
        Ok(basis_ns)
    }

    /// Extends the time in which this server answers for its scenes. Call it if, after the heartbeat, its claims were
    /// the newest.
    pub fn confirm(&self, basis_ns: u64) {
        self.answers_until_ns.store(self.term.answers_until_ns(basis_ns), Relaxed);
    }

    /// Reads the heartbeats of all other servers, to record since when they are silent.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn look_around(&self) -> io::Result<()> {
        let all = self.beats.all()?;
        self.see_all(&all, lease_now_ns());
        Ok(())
    }

    /// Records heartbeats. `now_ns` is a time after they were read. O(servers).
    fn see_all(&self, all: &[(String, Option<ServerBeat>)], now_ns: u64) {
        let there: HashSet<&str> = all.iter().map(|(server, _)| server.as_str()).collect();
        let mut seen = self.seen.lock();
        seen.retain(|server, known| {
            if there.contains(server.as_str()) {
                return true;
            }
            known.beat.see(None, now_ns);
            known.silent_from_ns() + FORGOTTEN_NS >= now_ns
        });
        for (server, beat) in all.iter().filter(|(server, _)| *server != self.own.server) {
            let seen = self.note(&mut seen, server, beat.as_ref(), now_ns);
            if seen.silent_from_ns() + FORGOTTEN_NS < now_ns {
                // Heartbeat of a killed server. If the server runs after all, it sends another; on an error the file
                // stays.
                let _ = self.beats.remove(server);
            }
        }
    }

    fn note(
        &self,
        seen: &mut HashMap<String, SeenServer>,
        server: &str,
        beat: Option<&ServerBeat>,
        now_ns: u64,
    ) -> SeenServer {
        let count = beat.map(|beat| beat.count);
        let theirs = beat.map_or(self.term, |b| LeaseTerm::new(Duration::from_millis(b.term_ms)));
        let term = self.term.max(theirs);
        let new = SeenServer { beat: SeenBeat::new(count, now_ns), term };
        let known = seen.entry(server.to_owned()).or_insert(new);
        known.beat.see(count, now_ns);
        *known
    }

    fn look_at(&self, server: &ClaimHolder) -> io::Result<SeenServer> {
        let beat = self.beats.newest(&server.server)?;
        // Taken after the read: the heartbeat was written before.
        let now_ns = lease_now_ns();
        Ok(self.note(&mut self.seen.lock(), &server.server, beat.as_ref(), now_ns))
    }

    /// Returns true if a server has sent no heartbeat for the term of its lease. A server with an unreadable heartbeat
    /// is not silent.
    pub fn is_silent(&self, server: &ClaimHolder) -> bool {
        self.look_at(server).is_ok_and(|seen| seen.silent_from_ns() <= lease_now_ns())
    }

    /// Reads the heartbeat of a scene's previous owner once more after a claim, and waits until that owner answers no
    /// more. Must not run on the runtime's threads. For an owner that was silent there is no wait, unless it sent a
    /// heartbeat between the look before and the claim.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn wait_out(&self, before: &ClaimHolder) -> io::Result<()> {
        // A heartbeat sent after this does not count: its server then finds the claim.
        let until_ns = self.look_at(before)?.silent_from_ns();
        sleep(Duration::from_nanos(until_ns.saturating_sub(lease_now_ns())));
        Ok(())
    }

    /// Returns the other servers that may be running, at each address only the server heard of last: an earlier
    /// server there may have been killed.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn others(&self) -> io::Result<Vec<ClaimHolder>> {
        let all = self.beats.all()?.into_iter().filter_map(|(_, beat)| Some(beat?.server));
        let heard_of = |server: ClaimHolder| {
            // A server with an unreadable heartbeat is not silent.
            let until_ns = self.look_at(&server).map_or(u64::MAX, |seen| seen.silent_from_ns());
            (until_ns, server)
        };
        let mut others: Vec<_> = all.filter(|server| *server != self.own).map(heard_of).collect();
        let now_ns = lease_now_ns();
        others.retain(|(until_ns, _)| *until_ns > now_ns);
        others.sort_by(|(until_a, a), (until_b, b)| {
            (&a.address, until_b).cmp(&(&b.address, until_a))
        });
        others.dedup_by(|(_, older), (_, newer)| older.address == newer.address);
        Ok(others.into_iter().map(|(_, server)| server).collect())
    }

    /// Returns the claim of a scene that counts, the newest.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn newest(&self, scene: &str) -> io::Result<Option<SceneClaim>> {
        self.claims.newest(scene)
    }

    /// Records that the files of a scene exist that was claimed with this epoch in order to create it.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn note_made(&self, scene: &str, epoch: u64) -> io::Result<()> {
        self.claims.note_made(scene, epoch)
    }

    /// Returns true if files of a scene ever existed, according to its claims.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn was_made(&self, scene: &str) -> io::Result<bool> {
        self.claims.was_made(scene)
    }

    /// Returns the epoch of the newest claim of each scene.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn newest_epochs(&self, scenes: &[String]) -> io::Result<Vec<Option<u64>>> {
        self.claims.newest_epochs(scenes)
    }

    /// Puts a claim of the next epoch. Returns false if another server was first.
    ///
    /// # Errors
    /// I/O errors of the store; the claim is not stored then, unless the error is `TimedOut`.
    pub fn put(&self, scene: &str, claim: &SceneClaim) -> io::Result<bool> {
        self.claims.put(scene, claim)
    }

    /// Puts a claim that ends one of this server's own.
    ///
    /// # Errors
    /// See [`Membership::put`]; after `TimedOut` the claim is an [open end](Membership::open_end).
    pub fn put_end(&self, scene: &str, claim: &SceneClaim) -> io::Result<bool> {
        let put = self.put(scene, claim);
        match &put {
            Ok(_) => self.close_end(scene),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.open_ends.lock().insert(scene.to_owned(), claim.clone());
            }
            // Concerns this attempt alone: a claim of an earlier attempt may still arrive.
            Err(_) => {}
        }
        put
    }

    /// Returns the claim put to end this server's claim of this epoch, if the outcome of that put is unknown.
    pub fn open_end(&self, scene: &str, epoch: u64) -> Option<SceneClaim> {
        self.open_ends.lock().get(scene).filter(|end| end.epoch == epoch + 1).cloned()
    }

    /// Removes an open end, as there is a claim of its epoch: if the open end still arrives, it has no effect.
    pub fn close_end(&self, scene: &str) {
        self.open_ends.lock().remove(scene);
    }

    /// Removes this server's heartbeat and sends no more. Call it once this server owns nothing.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn leave(&self) -> io::Result<()> {
        self.has_left.store(true, Relaxed);
        self.beats.remove(&self.own.server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scenes::scene_store::LEASES;

    #[test]
    fn a_server_that_is_started_again_where_one_was_killed_is_the_one_at_that_address() {
        let folder = std::env::temp_dir().join(format!("palpate-again-{}", std::process::id()));
        // Left by an earlier process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        let store = SceneStore::open_shared(&folder).expect("a new store");
        let term = Duration::from_secs(3_600);
        let join = |at: &str| Membership::join(&store, at.to_owned(), term).expect("room");
        let here = join("here:1");
        // Each server is killed: its heartbeat stays.
        for _ in 0..8 {
            let newest = join("there:1").own().clone();
            assert_eq!(here.others().expect("readable"), [newest]);
        }
        // May fail: the store has its lock file open, and Windows keeps its name until it is closed.
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_was_seen_of_a_server_goes_long_after_its_sign_of_life() {
        let folder = std::env::temp_dir().join(format!("palpate-seen-{}", std::process::id()));
        // Left by an earlier process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        let store = SceneStore::open_shared(&folder).expect("a new store");
        let term = Duration::from_secs(3);
        let here = Membership::join(&store, "here:1".to_owned(), term).expect("room");
        let other = |n: u64| ClaimHolder { server: format!("{n:x}"), address: "x:1".to_owned() };
        let begin_ns = lease_now_ns();
        let kept_ns = term.as_nanos() as u64 + FORGOTTEN_NS;
        // Each start is another server; the server before has left.
        for n in 0..100 {
            let beat = ServerBeat { count: 1, term_ms: 3_000, server: other(n) };
            let beat = (other(n).server, Some(beat));
            let now_ns = begin_ns + n * kept_ns / 10;
            here.see_all(&[beat], now_ns);
            let is_known = |n: u64| here.seen.lock().contains_key(&other(n).server);
            assert!(is_known(n) && (n == 0 || is_known(n - 1)));
            assert!(here.seen.lock().len() <= 12, "{} are known", here.seen.lock().len());
        }
        assert!(!here.is_silent(&other(0)), "it is waited for as if it were new");
        // A torn heartbeat after a power failure: it prevents nobody from joining, counts as none, and is removed as a
        // whole one is.
        let torn = folder.join(LEASES).join("servers/7");
        std::fs::write(&torn, "count = 1").expect("room");
        let there = Membership::join(&store, "there:1".to_owned(), term).expect("it is no error");
        assert_eq!(there.others().expect("readable"), [here.own().clone()]);
        let now_ns = lease_now_ns();
        assert!(!there.is_silent(&other(7)), "it was seen just now");
        let beats = there.beats.all().expect("readable");
        there.see_all(&beats, now_ns + kept_ns / 2);
        assert!(torn.exists());
        there.see_all(&beats, now_ns + kept_ns + 1_000_000_000);
        assert!(!torn.exists());
        drop(here);
        // May fail: the store has its lock file open, and Windows keeps its name until it is closed.
        let _ = std::fs::remove_dir_all(&folder);
    }
}
