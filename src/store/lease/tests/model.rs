//! Model check of every order of every step of a few servers that share one scene: they claim, recover, write,
//! acknowledge, answer and release, without always learning whether a release succeeded, and time passes between any
//! two steps. A stopped or killed server is one whose next step comes late or never: the model needs no step for that.
//!
//! The code of the service itself makes the servers' decisions (`SceneClaim::opening`, `LeaseTerm`, `SeenBeat`,
//! `scenes::generations`). The store is a model: claims, heartbeats, and the journals and snapshots of the scene
//! (`files`), which are listed, read, written and removed in steps of their own.

mod files;
mod owner;

use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use files::{Files, Found, Listed};

use super::holder;
use crate::store::{
    lease::{
        claim::{ClaimFrom, ClaimHolder, ClaimState, Opening, SceneClaim},
        term::{LeaseTerm, SeenBeat},
    },
    scenes::generations::first_generation,
};

/// Lease term in nanoseconds; an eighth of it is the margin.
const TERM: u64 = 8;

/// Bounds of the explored state space.
#[derive(Clone, Copy)]
struct Size {
    servers: usize,
    epochs: u8,
    until: u64,
    /// Heartbeats of one server.
    beats: u64,
    /// Changes that clients ask for, over all servers.
    edits: u8,
    /// Unanswered claims that release the scene, over all servers.
    lost: u8,
    /// Snapshots that owners write concurrently with their changes, over all servers.
    snapshots: u8,
    /// Failed looks at the claims after a write, over all servers.
    doubts: u8,
    clocks: Clocks,
    /// Owners from whom the second server claims; `Anyone` models an admin's call.
    from: ClaimFrom,
}

/// Rates of the servers' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Clocks {
    /// Every other clock is slow by the full amount that the margin allows.
    Unequal,
    /// The first owner's clock stands still, as in a stopped virtual machine. That owner answers for ever; only its
    /// acknowledgements matter.
    FirstStands,
    /// Clocks are ignored: a claiming server does not wait, an owner answers for ever, and each step of a take-over or
    /// a snapshot comes on its own. Acknowledged changes are safe however late any of the steps is.
    Ignored,
}

/// A rule that is left out, to show its purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeftOut {
    Nothing,
    /// The look at the newest claim before a change is acknowledged: the owner relies on its clock alone.
    Fence,
    /// The margin: the owner answers until the term is over, by its own clock.
    Margin,
    /// The look at the owner's heartbeat after the claim.
    SecondLook,
    /// The look at the newest claim between loading a scene and serving it.
    LastLook,
    /// The new owner's journal and snapshot of its own epoch: the owner continues the existing files.
    OwnFiles,
    /// The look at the newest claim between the look at the files and the first write, and the refusal of a folder with
    /// files of a later owner.
    LookBetween,
    /// The repeated read of a new owner if files disappeared during its read.
    ReadAgain,
    /// The rule that an owner stops answering while the outcome of its release is unknown.
    QuietEnd,
    /// The rule that a server claims the next epoch if it is asked again for a scene that it may have released.
    NextEpoch,
}

/// A change, and the epoch of its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edit {
    number: u8,
    epoch: u8,
}

/// An owner's view of the scene and its files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owned {
    epoch: u8,
    /// State that it serves.
    state: Vec<Edit>,
    /// Greatest generation.
    greatest: u64,
    /// The journal of that generation is still open.
    is_open: bool,
}

/// Progress of a change or a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The newest claim belonged to the owner before the write.
    Checked,
    /// The journal that follows a snapshot has begun.
    Begun,
    /// Written to the disk.
    Written,
    /// Files before this generation are needless, and not removed yet.
    Needless(u64),
}

/// A change or snapshot in progress, with the owner's files as they were at its begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Under {
    stage: Stage,
    /// The change; `None`: a snapshot.
    edit: Option<Edit>,
    of: Owned,
}

/// Progress of a server that takes the scene.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Taking {
    /// Claimed from this server, whose heartbeat is to be looked at once more.
    Claimed(usize),
    /// Waits until this time of its clock.
    Waits(u64),
    Listed(Listed),
    Read(Found),
    /// The claim was the newest after the read.
    Checked(Found),
    /// The journal has begun.
    Begun(Owned),
    /// The snapshot has been written too.
    Kept(Owned),
    Needless(Owned, u64),
    /// The server looks at its claim once more before it serves.
    Recovered(Owned),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Server {
    beats: u64,
    /// Its clock before the heartbeat; it has not looked at its claim since.
    renewing_from: Option<u64>,
    answers_until: u64,
    /// Last seen heartbeats, by server.
    seen: Vec<Option<SeenBeat>>,
    claimed: Option<u8>,
    taking: Option<Taking>,
    serves: Option<Owned>,
    /// Epoch of the claim whose release was not answered.
    open_end: Option<u8>,
    change: Option<Under>,
    snapshot: Option<Under>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    time: u64,
    clocks: Clocks,
    /// The newest claim: its epoch, and its server or none.
    epoch: u8,
    owner: Option<usize>,
    /// A claim that releases the scene was sent, with the next epoch, and may still arrive.
    is_end_late: bool,
    lost: u8,
    files: Files,
    /// Acknowledged changes, with the index in the scene that the client received.
    acknowledged: Vec<(usize, Edit)>,
    edits: u8,
    snapshots: u8,
    doubts: u8,
    servers: Vec<Server>,
}

struct Explored {
    worlds: usize,
    /// Maximum number of acknowledged changes over all worlds.
    acknowledged: usize,
    violation: Option<String>,
}

fn explore(size: Size, left_out: LeftOut) -> Explored {
    let first = World::new(size);
    let (mut known, mut open) = (HashSet::from([digest(&first)]), VecDeque::from([first]));
    let mut acknowledged = 0;
    while let Some(world) = open.pop_front() {
        acknowledged = acknowledged.max(world.acknowledged.len());
        for next in world.steps(size, left_out) {
            let violation = match next {
                Err(violation) => Some(violation),
                Ok(next) => {
                    let is_same = next.files == world.files
                        && next.acknowledged.len() == world.acknowledged.len();
                    let lost = || (!is_same).then(|| next.lost_change()).flatten();
                    let violation = next.two_answer(size).or_else(lost);
                    if known.insert(digest(&next)) {
                        open.push_back(next);
                    }
                    violation
                }
            };
            if violation.is_some() {
                return Explored { worlds: known.len(), acknowledged, violation };
            }
        }
    }
    Explored { worlds: known.len(), acknowledged, violation: None }
}

/// Digest of 128 bits, so that some millions of worlds have no collision.
fn digest(world: &World) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, world).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

fn server(n: usize) -> ClaimHolder {
    holder(&n.to_string())
}

fn number(server: &ClaimHolder) -> usize {
    server.server.parse().expect("a number")
}

impl Clocks {
    fn of(self, n: usize, time: u64) -> u64 {
        match self {
            Clocks::Unequal if n.is_multiple_of(2) => time - time.div_ceil(TERM),
            Clocks::FirstStands if n == 0 => 0,
            _ => time,
        }
    }
}

fn term() -> LeaseTerm {
    LeaseTerm::new(Duration::from_nanos(TERM))
}

impl Server {
    /// Forgets its lease state, which is of no use any more: worlds that differ in that alone are equal.
    fn lose(&mut self) {
        (self.claimed, self.taking, self.serves) = (None, None, None);
        (self.answers_until, self.renewing_from) = (0, None);
    }

    fn is_recovered(&self) -> bool {
        matches!(self.taking, Some(Taking::Recovered(_)))
    }
}

impl World {
    /// Creates a world in which the first server owns the scene.
    fn new(size: Size) -> World {
        let other = || Server { seen: vec![None; size.servers], ..Server::default() };
        let mut servers: Vec<Server> = (0..size.servers).map(|_| other()).collect();
        let answers_until = term().answers_until_ns(0);
        let (state, greatest) = (Vec::new(), first_generation(1));
        let serves = Some(Owned { epoch: 1, state, greatest, is_open: true });
        servers[0] = Server { beats: 1, answers_until, claimed: Some(1), serves, ..other() };
        World {
            time: 0,
            clocks: size.clocks,
            epoch: 1,
            owner: Some(0),
            is_end_late: false,
            lost: 0,
            files: Files::new(1),
            acknowledged: Vec::new(),
            edits: 0,
            snapshots: 0,
            doubts: 0,
            servers,
        }
    }

    fn newest(&self) -> SceneClaim {
        let state = self.owner.map_or(ClaimState::Free, |n| ClaimState::Owned(server(n)));
        SceneClaim { epoch: self.epoch.into(), state }
    }

    fn is_newest(&self, n: usize) -> bool {
        self.owner == Some(n) && self.servers[n].claimed == Some(self.epoch)
    }

    fn now(&self, n: usize) -> u64 {
        self.clocks.of(n, self.time)
    }

    fn answers(&self, n: usize) -> bool {
        let server = &self.servers[n];
        let is_asked = self.clocks != Clocks::Ignored;
        server.serves.is_some() && (!is_asked || self.now(n) < server.answers_until)
    }

    fn two_answer(&self, size: Size) -> Option<String> {
        if size.clocks != Clocks::Unequal {
            return None;
        }
        let answering: Vec<usize> = (0..self.servers.len()).filter(|n| self.answers(*n)).collect();
        (answering.len() > 1).then(|| format!("servers {answering:?} answer in {self:?}"))
    }

    /// Compares the acknowledged changes with a read of the files now, with all servers gone.
    fn lost_change(&self) -> Option<String> {
        let found = self.files.read_all();
        self.missing_in(&found.state).map(|lost| format!("{lost:?} is not in {found:?}"))
    }

    fn missing_in(&self, state: &[Edit]) -> Option<(usize, Edit)> {
        self.acknowledged.iter().find(|(at, edit)| state.get(*at) != Some(edit)).copied()
    }

    /// Returns all worlds that are one step ahead.
    fn steps(&self, size: Size, left_out: LeftOut) -> Vec<Result<World, String>> {
        let mut next = Vec::new();
        if self.time < size.until {
            next.push(Ok(World { time: self.time + 1, ..self.clone() }));
        }
        if self.is_end_late {
            let mut late = self.clone();
            late.put_claim(None);
            next.push(Ok(late));
        }
        for n in 0..self.servers.len() {
            next.extend(self.renew(n, size, left_out).map(Ok));
            next.extend(self.look(n).map(Ok));
            let is_forced = n == 1 || size.clocks == Clocks::Ignored;
            let from = if is_forced { size.from } else { ClaimFrom::Silent };
            next.extend(self.take(n, from, size, left_out).map(Ok));
            next.extend(self.give_up(n, size).into_iter().map(Ok));
            next.extend(self.lose_end(n, size, left_out).map(Ok));
            next.extend(self.end_again(n).map(Ok));
            next.extend(self.recover(n, left_out).map(Ok));
            next.extend(self.serve(n, left_out));
            next.extend(self.begin_change(n, size).map(Ok));
            next.extend(self.change(n, size, left_out).into_iter().map(Ok));
            next.extend(self.snapshot(n, size).map(Ok));
        }
        next
    }

    /// Writes the claim of the next epoch. A pending claim of that epoch becomes void.
    fn put_claim(&mut self, owner: Option<usize>) {
        (self.epoch, self.owner, self.is_end_late) = (self.epoch + 1, owner, false);
    }

    /// Writes a heartbeat, or looks at the claim after it.
    fn renew(&self, n: usize, size: Size, left_out: LeftOut) -> Option<World> {
        let mut next = self.clone();
        let is_newest = self.is_newest(n);
        let own = &mut next.servers[n];
        // A server does not look at the claim of a scene that it is still loading.
        let is_looked_at = own.is_recovered() || own.serves.is_some();
        if self.clocks == Clocks::Ignored {
            own.lose();
            return (is_looked_at && !is_newest).then_some(next);
        }
        match own.renewing_from.take() {
            // Heartbeats of a server that owns nothing do not matter.
            None if own.beats < size.beats && own.claimed.is_some() => {
                own.beats += 1;
                own.renewing_from = Some(self.now(n));
            }
            None => return None,
            Some(basis) => {
                own.answers_until = match left_out {
                    LeftOut::Margin => basis + TERM,
                    _ => term().answers_until_ns(basis),
                };
                if is_looked_at && !is_newest {
                    own.lose();
                }
            }
        }
        Some(next)
    }

    /// Looks at the owner's heartbeat.
    fn look(&self, n: usize) -> Option<World> {
        // An owner's observations of others matter only once it has lost the scene, and a term later at the soonest.
        let other = self.owner.filter(|_| self.servers[n].claimed.is_none())?;
        if self.clocks == Clocks::Ignored {
            return None;
        }
        let mut next = self.clone();
        next.see(n, other);
        (next != *self).then_some(next)
    }

    fn see(&mut self, n: usize, other: usize) -> SeenBeat {
        let (count, now) = (Some(self.servers[other].beats), self.now(n));
        let seen = self.servers[n].seen[other].get_or_insert(SeenBeat::new(count, now));
        seen.see(count, now);
        *seen
    }

    /// Claims the scene, and looks once more at the previous owner.
    fn take(&self, n: usize, from: ClaimFrom, size: Size, left_out: LeftOut) -> Option<World> {
        let own = &self.servers[n];
        if own.claimed.is_some() || self.epoch == size.epochs {
            return None;
        }
        let is_silent = |other: &ClaimHolder| {
            own.seen[number(other)].is_some_and(|seen| seen.silent_from_ns(term()) <= self.now(n))
        };
        let mut next = self.clone();
        match self.newest().opening(&server(n), from, is_silent) {
            Opening::Claim { epoch, before } => {
                next.put_claim(Some(n));
                let waits = left_out != LeftOut::SecondLook && size.clocks != Clocks::Ignored;
                let own = &mut next.servers[n];
                (own.claimed, own.open_end) = (Some(epoch as u8), None);
                let looks_at = before.filter(|_| waits).map(|s| Taking::Claimed(number(&s)));
                own.taking = looks_at.or(Some(Taking::Waits(0)));
            }
            // A scene that was handed to it, and that it did not recover before it was stopped.
            Opening::Own { epoch } => {
                let is_open = own.open_end == Some(epoch as u8) && left_out != LeftOut::NextEpoch;
                let epoch = epoch + u64::from(is_open);
                if is_open {
                    next.put_claim(Some(n));
                    next.servers[n].open_end = None;
                }
                let own = &mut next.servers[n];
                (own.claimed, own.taking) = (Some(epoch as u8), Some(Taking::Waits(0)));
            }
            Opening::Unknown | Opening::Elsewhere { .. } => return None,
        }
        Some(next)
    }

    /// Releases the scene cleanly: the server stops answering, and then says so. Releases to nobody or, if clocks are
    /// ignored, to each other server.
    fn give_up(&self, n: usize, size: Size) -> Vec<World> {
        let own = &self.servers[n];
        let may = own.serves.is_some() && own.change.is_none() && self.is_newest(n);
        if !may || self.epoch == size.epochs {
            return Vec::new();
        }
        let is_handed = |to: &usize| *to != n && size.clocks == Clocks::Ignored;
        let others = (0..self.servers.len()).filter(is_handed).map(Some);
        let given = others.chain([None]).map(|to| {
            let mut next = self.clone();
            next.servers[n].lose();
            next.put_claim(to);
            next
        });
        given.collect()
    }

    /// As [`World::give_up`], but the claim arrives later or never, and the server does not know. Also of a scene that
    /// it could not load completely, and forgets.
    fn lose_end(&self, n: usize, size: Size, left_out: LeftOut) -> Option<World> {
        let own = &self.servers[n];
        let has_it = own.serves.is_some() || own.is_recovered();
        let may = has_it && own.change.is_none() && self.is_newest(n);
        if !may || self.lost == size.lost || self.epoch == size.epochs {
            return None;
        }
        let mut next = self.clone();
        (next.lost, next.is_end_late) = (self.lost + 1, true);
        let own = &mut next.servers[n];
        own.open_end = own.claimed;
        if own.is_recovered() {
            own.lose();
        }
        own.serves = own.serves.take().filter(|_| left_out == LeftOut::QuietEnd);
        Some(next)
    }

    /// Writes the claim again whose outcome is unknown. The scene is not its own if the
    /// write succeeds, nor if another claim exists.
    fn end_again(&self, n: usize) -> Option<World> {
        let own = &self.servers[n];
        let is_quiet = own.serves.is_none() && !own.is_recovered();
        own.open_end.filter(|of| own.claimed == Some(*of) && is_quiet)?;
        let mut next = self.clone();
        if self.is_newest(n) {
            next.put_claim(None);
        }
        let own = &mut next.servers[n];
        own.lose();
        own.open_end = None;
        Some(next)
    }
}

/// Long enough for a lease to expire, with heartbeats and a change at any moment of that time.
const TAKEN: Size = Size {
    servers: 2,
    epochs: 4,
    until: 9,
    beats: 2,
    edits: 1,
    lost: 0,
    snapshots: 0,
    doubts: 0,
    clocks: Clocks::Unequal,
    from: ClaimFrom::Silent,
};
/// Released and taken again and again, without time passing.
const GIVEN: Size = Size { until: 0, edits: 2, ..TAKEN };
const THREE: Size = Size { servers: 3, until: 8, beats: 1, ..TAKEN };
const STANDING: Size = Size { clocks: Clocks::FirstStands, ..TAKEN };
/// Taken from a working owner, which sends one more heartbeat before or after the claim.
const FORCED: Size = Size { from: ClaimFrom::Anyone, until: 8, ..TAKEN };
/// As [`TAKEN`], with one unanswered claim that releases the scene.
const LOST: Size = Size { lost: 1, ..TAKEN };
/// Two take-overs after the first owner, each by any server, from any owner and at any moment: released, handed over,
/// forced, or after an expired lease. All orders of claim, list, read, check, write, removal and acknowledgement.
const FILES: Size = Size {
    servers: 3,
    epochs: 3,
    until: 0,
    edits: 3,
    clocks: Clocks::Ignored,
    from: ClaimFrom::Anyone,
    ..TAKEN
};
/// As [`FILES`], with an owner's snapshot, and so with files that are removed.
const REMOVED: Size = Size { edits: 1, snapshots: 2, ..FILES };
/// As [`FILES`], with a write after which the owner cannot look at its claim.
const DOUBTED: Size = Size { edits: 2, doubts: 1, ..FILES };

#[test]
fn no_order_of_steps_loses_a_change_or_has_two_owners() {
    let sizes = [
        ("taken", TAKEN),
        ("given", GIVEN),
        ("three", THREE),
        ("one clock stands", STANDING),
        ("forced", FORCED),
        ("lost", LOST),
    ];
    hold(&sizes);
}

#[test]
fn no_order_of_looks_writes_and_removals_of_files_loses_a_change() {
    hold(&[("files", FILES), ("removed", REMOVED), ("doubted", DOUBTED)]);
}

fn hold(sizes: &[(&str, Size)]) {
    for (name, size) in sizes.iter().copied() {
        let Explored { worlds, acknowledged, violation } = explore(size, LeftOut::Nothing);
        println!("{name}: {worlds} worlds, up to {acknowledged} changes acknowledged");
        assert_eq!(violation, None);
        assert_eq!(acknowledged, usize::from(size.edits), "nothing happened");
    }
}

/// Each rule is needed: without it, some order of steps breaks a guarantee.
#[test]
fn without_any_of_its_rules_a_lease_is_broken() {
    let rules = [
        (STANDING, LeftOut::Fence),
        (TAKEN, LeftOut::Margin),
        (TAKEN, LeftOut::SecondLook),
        (TAKEN, LeftOut::LastLook),
        (FILES, LeftOut::OwnFiles),
        (FILES, LeftOut::LookBetween),
        (FILES, LeftOut::Fence),
        (REMOVED, LeftOut::ReadAgain),
        (FORCED, LeftOut::SecondLook),
        (LOST, LeftOut::QuietEnd),
        (LOST, LeftOut::NextEpoch),
    ];
    for (size, left_out) in rules {
        let found = explore(size, left_out).violation;
        let found = found.unwrap_or_else(|| panic!("{left_out:?} is of no use"));
        println!("without {left_out:?}: {}", &found[..found.len().min(120)]);
    }
}
