//! Every order of every step of a few servers that share one scene: they claim, recover, write, acknowledge, answer and
//! give up, not always told whether that is done, and time goes on between any two steps. A server that is stopped, or killed, is one whose next step comes late,
//! or never: no step of its own is needed for that.
//!
//! What a server decides is decided by the code that the service runs (`SceneClaim::opening`, `LeaseTerm`, `SeenBeat`,
//! `scenes::generations`). The store is a model: claims, signs of life, and the journals and snapshots of the scene
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

/// Nanoseconds; its eighth is the margin.
const TERM: u64 = 8;

/// How large the world is that is explored.
#[derive(Clone, Copy)]
struct Size {
    servers: usize,
    epochs: u8,
    until: u64,
    /// Signs of life of one server.
    beats: u64,
    /// Changes that clients ask for, of all servers together.
    edits: u8,
    /// Claims that give the scene up and are not answered, of all servers together.
    lost: u8,
    /// Snapshots that owners write beside their changes, of all servers together.
    snapshots: u8,
    /// Looks at the claims after a write that fail, of all servers together.
    doubts: u8,
    clocks: Clocks,
    /// From whom the second server claims: from anyone by an admin's call.
    from: ClaimFrom,
}

/// How the servers' clocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Clocks {
    /// Every other one is slow by all that the margin is for.
    Unequal,
    /// That of the first owner stands, as in a virtual machine that is stopped. It answers for ever then, and what counts
    /// is what it acknowledges.
    FirstStands,
    /// None is asked: whoever claims waits for nobody, whoever owns answers for ever, and each step of a take-over or a
    /// snapshot comes on its own. What is acknowledged is safe however late any of them is.
    Ignored,
}

/// A rule that is left out, to see what it is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeftOut {
    Nothing,
    /// The look at the newest claim before a change is acknowledged: the owner asks its clock alone.
    Fence,
    /// The owner answers until the term is over, by its own clock.
    Margin,
    /// The look at the owner's sign of life after the claim.
    SecondLook,
    /// The look at the newest claim between taking a scene in and serving it.
    LastLook,
    /// A journal and a snapshot of the new owner's own epoch: it goes on with the files that are there.
    OwnFiles,
    /// The look at the newest claim between the look at the files and the first that is written, and that a folder with
    /// files of a later owner refuses.
    LookBetween,
    /// That a new owner reads anew where files went while it read.
    ReadAgain,
    /// That an owner answers no more when it is not known whether it has given the scene up.
    QuietEnd,
    /// That a server which is asked for a scene anew that it may have given up claims the next epoch.
    NextEpoch,
}

/// A change, and the epoch of its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edit {
    number: u8,
    epoch: u8,
}

/// What an owner has of the scene and its files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owned {
    epoch: u8,
    /// All that it serves.
    state: Vec<Edit>,
    /// The greatest generation.
    greatest: u64,
    /// The journal of that generation goes on.
    is_open: bool,
}

/// How far a change has come, or a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The newest claim was its owner's before it is written.
    Checked,
    /// The journal is there that begins after a snapshot.
    Begun,
    /// On the disk.
    Written,
    /// Files before this generation are needless, and not removed yet.
    Needless(u64),
}

/// Something under way, with the owner's files as they were when it began.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Under {
    stage: Stage,
    /// `None`: a snapshot.
    edit: Option<Edit>,
    of: Owned,
}

/// How far a server has come that takes the scene.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Taking {
    /// Who had the scene is to be looked at once more.
    Claimed(usize),
    /// By its clock.
    Waits(u64),
    Listed(Listed),
    Read(Found),
    /// Its claim was the newest when it had read.
    Checked(Found),
    /// It has a journal.
    Begun(Owned),
    /// It has a snapshot too.
    Kept(Owned),
    Needless(Owned, u64),
    /// It looks at its claim once more before it serves.
    Recovered(Owned),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Server {
    beats: u64,
    /// Its clock before the sign of life, after which it has not looked at its claim yet.
    renewing_from: Option<u64>,
    answers_until: u64,
    /// By server: what it has seen of it.
    seen: Vec<Option<SeenBeat>>,
    claimed: Option<u8>,
    taking: Option<Taking>,
    serves: Option<Owned>,
    /// The claim that gives the scene up after that of this epoch was not answered.
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
    /// A claim that gives the scene up was put, with the next epoch, and may still come.
    is_end_late: bool,
    lost: u8,
    files: Files,
    /// With the place in the scene that the client was told.
    acknowledged: Vec<(usize, Edit)>,
    edits: u8,
    snapshots: u8,
    doubts: u8,
    servers: Vec<Server>,
}

struct Explored {
    worlds: usize,
    /// Acknowledged in at least one of them, at most.
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

/// Of 128 bits, so that no two worlds of some millions have the same.
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
    /// What it knew of its lease is of no use any more: worlds that differ in that alone are one.
    fn lose(&mut self) {
        (self.claimed, self.taking, self.serves) = (None, None, None);
        (self.answers_until, self.renewing_from) = (0, None);
    }

    fn is_recovered(&self) -> bool {
        matches!(self.taking, Some(Taking::Recovered(_)))
    }
}

impl World {
    /// The first server owns the scene.
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

    /// What a server would find that came now, with all others gone, against what was acknowledged.
    fn lost_change(&self) -> Option<String> {
        let found = self.files.read_all();
        self.missing_in(&found.state).map(|lost| format!("{lost:?} is not in {found:?}"))
    }

    fn missing_in(&self, state: &[Edit]) -> Option<(usize, Edit)> {
        self.acknowledged.iter().find(|(at, edit)| state.get(*at) != Some(edit)).copied()
    }

    /// All worlds that are one step on.
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

    /// The next epoch's. What was to have that epoch and is still on its way comes to nothing.
    fn put_claim(&mut self, owner: Option<usize>) {
        (self.epoch, self.owner, self.is_end_late) = (self.epoch + 1, owner, false);
    }

    /// Writes a sign of life, or looks at its claim after that.
    fn renew(&self, n: usize, size: Size, left_out: LeftOut) -> Option<World> {
        let mut next = self.clone();
        let is_newest = self.is_newest(n);
        let own = &mut next.servers[n];
        // A scene that it is still taking in is not among those that it looks at.
        let is_looked_at = own.is_recovered() || own.serves.is_some();
        if self.clocks == Clocks::Ignored {
            own.lose();
            return (is_looked_at && !is_newest).then_some(next);
        }
        match own.renewing_from.take() {
            // The signs of one that owns nothing are nobody's concern.
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

    /// At the owner's sign of life.
    fn look(&self, n: usize) -> Option<World> {
        // What an owner has seen of others matters when it has lost the scene, and a term later at the soonest.
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

    /// Claims the scene, and looks once more at who had it.
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
            // What it was handed, and did not recover before it was stopped.
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

    /// In good order: it answers no more, and then says so. To nobody or, where no clock is asked, to each other server.
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

    /// As [`World::give_up`], but the claim is not there yet, or never comes, and nothing is known of it. Also of a scene
    /// that it could not take in to the end, and forgets.
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

    /// Puts the claim again whose fate is not known. Whether that is done, or another is there: the scene is not its own.
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

/// Long enough for a lease to run out, and for signs of life and a change at any moment of that.
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
/// Given up and taken again and again, with no need of time.
const GIVEN: Size = Size { until: 0, edits: 2, ..TAKEN };
const THREE: Size = Size { servers: 3, until: 8, beats: 1, ..TAKEN };
const STANDING: Size = Size { clocks: Clocks::FirstStands, ..TAKEN };
/// From an owner at work, which gives one more sign of life before or after the claim.
const FORCED: Size = Size { from: ClaimFrom::Anyone, until: 8, ..TAKEN };
/// One of the claims that give the scene up is not answered.
const LOST: Size = Size { lost: 1, ..TAKEN };
/// Two take-overs after the first owner, each by any server, from whoever has the scene and at any moment: given up, handed
/// over, forced, or as after the end of a lease. All orders of claim, list, read, check, write, removal and
/// acknowledgement.
const FILES: Size = Size {
    servers: 3,
    epochs: 3,
    until: 0,
    edits: 3,
    clocks: Clocks::Ignored,
    from: ClaimFrom::Anyone,
    ..TAKEN
};
/// The same with an owner's snapshot, and so with files that go.
const REMOVED: Size = Size { edits: 1, snapshots: 2, ..FILES };
/// The same with a write after which the owner cannot look at its claim.
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

/// Each rule is there for something: without it, an order of steps breaks what is promised.
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
