//! Every order of every step of a few servers that share one scene: they claim, recover, write, acknowledge, answer and
//! give up, not always told whether that is done, and time goes on between any two steps. A server that is stopped, or killed, is one whose next step comes late,
//! or never: no step of its own is needed for that.
//!
//! What a server decides is decided by the code that the service runs (`SceneClaim::opening`, `LeaseTerm`, `SeenBeat`). The
//! store is a model: claims, signs of life, and for each epoch the state that its owner began with and what was added.

use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use super::holder;
use crate::store::lease::{
    claim::{ClaimFrom, ClaimHolder, ClaimState, Opening, SceneClaim},
    term::{LeaseTerm, SeenBeat},
};

/// Nanoseconds; its eighth is the margin.
const TERM: u64 = 8;
const EPOCHS_MAX: usize = 4;

/// How large the world is that is explored.
#[derive(Clone, Copy)]
struct Size {
    servers: usize,
    until: u64,
    /// Signs of life of one server.
    beats: u64,
    /// Changes that clients ask for, of all servers together.
    edits: u8,
    /// Claims that give the scene up and are not answered, of all servers together.
    lost: u8,
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

/// What is on the disk of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Files {
    /// The state that its owner began with; `None`: it has not come to that.
    first: Option<Vec<Edit>>,
    added: Vec<Edit>,
}

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Under {
    /// The newest claim was its own before it is written.
    Checked(Edit),
    /// On the disk.
    Written(Edit),
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
    /// After a claim: who had the scene, and is to be looked at once more.
    looks_at: Option<usize>,
    /// By its clock; after that, before it has recovered.
    waits_until: Option<u64>,
    /// It has the scene, and looks at its claim once more before it serves it.
    recovered: bool,
    serves: bool,
    /// The claim that gives the scene up after that of this epoch was not answered.
    open_end: Option<u8>,
    change: Option<Under>,
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
    files: [Files; EPOCHS_MAX + 1],
    acknowledged: Vec<Edit>,
    edits: u8,
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
                    let violation = next.two_answer(size);
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
        (self.claimed, self.looks_at, self.waits_until) = (None, None, None);
        (self.recovered, self.serves) = (false, false);
        (self.answers_until, self.renewing_from) = (0, None);
    }
}

impl World {
    /// The first server owns the scene.
    fn new(size: Size) -> World {
        let other = || Server { seen: vec![None; size.servers], ..Server::default() };
        let mut servers: Vec<Server> = (0..size.servers).map(|_| other()).collect();
        let answers_until = term().answers_until_ns(0);
        servers[0] = Server { beats: 1, answers_until, claimed: Some(1), serves: true, ..other() };
        let mut files: [Files; EPOCHS_MAX + 1] = Default::default();
        files[1].first = Some(Vec::new());
        World {
            time: 0,
            clocks: size.clocks,
            epoch: 1,
            owner: Some(0),
            is_end_late: false,
            lost: 0,
            files,
            acknowledged: Vec::new(),
            edits: 0,
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
        server.serves && self.now(n) < server.answers_until
    }

    fn two_answer(&self, size: Size) -> Option<String> {
        if size.clocks == Clocks::FirstStands {
            return None;
        }
        let answering: Vec<usize> = (0..self.servers.len()).filter(|n| self.answers(*n)).collect();
        (answering.len() > 1).then(|| format!("servers {answering:?} answer in {self:?}"))
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
            let from = if n == 1 { size.from } else { ClaimFrom::Silent };
            next.extend(self.take(n, from, left_out).map(Ok));
            next.extend(self.give_up(n).map(Ok));
            next.extend(self.lose_end(n, size, left_out).map(Ok));
            next.extend(self.end_again(n).map(Ok));
            next.extend(self.recover(n, left_out));
            next.extend(self.serve(n, left_out));
            next.extend(self.change(n, size, left_out));
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
        let own = &mut next.servers[n];
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
                // A scene that it is still taking in is not among those that it looks at.
                if (own.recovered || own.serves) && !self.is_newest(n) {
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
    fn take(&self, n: usize, from: ClaimFrom, left_out: LeftOut) -> Option<World> {
        let own = &self.servers[n];
        if own.claimed.is_some() || usize::from(self.epoch) == EPOCHS_MAX {
            return None;
        }
        let is_silent = |other: &ClaimHolder| {
            own.seen[number(other)].is_some_and(|seen| seen.silent_from_ns(term()) <= self.now(n))
        };
        let mut next = self.clone();
        match self.newest().opening(&server(n), from, is_silent) {
            Opening::Claim { epoch, before } => {
                next.put_claim(Some(n));
                let own = &mut next.servers[n];
                (own.claimed, own.open_end) = (Some(epoch as u8), None);
                own.looks_at =
                    before.filter(|_| left_out != LeftOut::SecondLook).map(|s| number(&s));
                own.waits_until = own.looks_at.is_none().then_some(0);
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
                (own.claimed, own.waits_until) = (Some(epoch as u8), Some(0));
            }
            Opening::Unknown | Opening::Elsewhere { .. } => return None,
        }
        Some(next)
    }

    /// In good order: it answers no more, and then says so.
    fn give_up(&self, n: usize) -> Option<World> {
        let own = &self.servers[n];
        let may = own.serves && own.change.is_none() && self.is_newest(n);
        if !may || usize::from(self.epoch) == EPOCHS_MAX {
            return None;
        }
        let mut next = self.clone();
        next.servers[n].lose();
        next.put_claim(None);
        Some(next)
    }

    /// As [`World::give_up`], but the claim is not there yet, or never comes, and nothing is known of it. Also of a scene
    /// that it could not take in to the end, and forgets.
    fn lose_end(&self, n: usize, size: Size, left_out: LeftOut) -> Option<World> {
        let own = &self.servers[n];
        let may = (own.serves || own.recovered) && own.change.is_none() && self.is_newest(n);
        if !may || self.lost == size.lost || usize::from(self.epoch) == EPOCHS_MAX {
            return None;
        }
        let mut next = self.clone();
        (next.lost, next.is_end_late) = (self.lost + 1, true);
        let own = &mut next.servers[n];
        own.open_end = own.claimed;
        if own.recovered {
            own.lose();
        }
        own.serves &= left_out == LeftOut::QuietEnd;
        Some(next)
    }

    /// Puts the claim again whose fate is not known. Whether that is done, or another is there: the scene is not its own.
    fn end_again(&self, n: usize) -> Option<World> {
        let own = &self.servers[n];
        own.open_end.filter(|of| own.claimed == Some(*of) && !own.serves && !own.recovered)?;
        let mut next = self.clone();
        if self.is_newest(n) {
            next.put_claim(None);
        }
        let own = &mut next.servers[n];
        own.lose();
        own.open_end = None;
        Some(next)
    }

    /// Reads what is there, and begins files of its own.
    fn recover(&self, n: usize, left_out: LeftOut) -> Option<Result<World, String>> {
        let own = &self.servers[n];
        let mut next = self.clone();
        if let Some(before) = own.looks_at {
            let until = next.see(n, before).silent_from_ns(term());
            (next.servers[n].looks_at, next.servers[n].waits_until) = (None, Some(until));
            return Some(Ok(next));
        }
        let (until, epoch) = (own.waits_until?, own.claimed?);
        if self.now(n) < until {
            return None;
        }
        let before = (1..usize::from(epoch)).rev().find(|e| self.files[*e].first.is_some())?;
        let served = self.files[before].first.clone().expect("found");
        let mut state = served.clone();
        state.extend(&self.files[before].added);
        if left_out == LeftOut::OwnFiles {
            state = self.files.iter().flat_map(|f| &f.added).copied().collect();
        }
        let foreign = state[..served.len()] != served
            || state[served.len()..].iter().any(|edit| usize::from(edit.epoch) != before);
        if foreign {
            let states = format!("{state:?} after {served:?} of epoch {before}");
            return Some(Err(format!("epoch {epoch} has what no owner had: {states}")));
        }
        next.files[usize::from(epoch)].first = Some(state);
        let own = &mut next.servers[n];
        (own.waits_until, own.recovered) = (None, true);
        own.seen.fill(None);
        Some(Ok(next))
    }

    /// Serves what it has recovered, if the newest claim is still its own.
    fn serve(&self, n: usize, left_out: LeftOut) -> Option<Result<World, String>> {
        let own = &self.servers[n];
        let epoch = own.claimed.filter(|_| own.recovered)?;
        let mut next = self.clone();
        if !self.is_newest(n) && left_out != LeftOut::LastLook {
            next.servers[n].lose();
            return Some(Ok(next));
        }
        let own = &mut next.servers[n];
        (own.recovered, own.serves) = (false, true);
        let first = self.files[usize::from(epoch)].first.as_ref().expect("recovered");
        if let Some(lost) = self.acknowledged.iter().find(|edit| !first.contains(edit)) {
            return Some(Err(format!("{lost:?} was acknowledged, and epoch {epoch} has it not")));
        }
        Some(Ok(next))
    }

    /// Checks, writes, and checks again to acknowledge.
    fn change(&self, n: usize, size: Size, left_out: LeftOut) -> Option<Result<World, String>> {
        let own = &self.servers[n];
        let mut next = self.clone();
        match own.change {
            None => {
                let may = own.serves && self.answers(n) && self.edits < size.edits;
                let epoch = own.claimed.filter(|_| may && self.is_newest(n))?;
                next.edits += 1;
                let edit = Edit { number: next.edits, epoch };
                next.servers[n].change = Some(Under::Checked(edit));
            }
            Some(Under::Checked(edit)) => {
                next.files[usize::from(edit.epoch)].added.push(edit);
                next.servers[n].change = Some(Under::Written(edit));
            }
            Some(Under::Written(edit)) => {
                next.servers[n].change = None;
                let is_own = match left_out {
                    LeftOut::Fence => self.answers(n),
                    _ => self.owner == Some(n) && self.epoch == edit.epoch,
                };
                if is_own {
                    next.acknowledged.push(edit);
                    let later = &self.files[usize::from(edit.epoch) + 1..];
                    let mut firsts = later.iter().filter_map(|f| f.first.as_ref());
                    if firsts.any(|first| !first.contains(&edit)) {
                        return Some(Err(format!("{edit:?} is acknowledged and lost")));
                    }
                } else {
                    next.servers[n].lose();
                }
            }
        }
        Some(Ok(next))
    }
}

/// Long enough for a lease to run out, and for signs of life and a change at any moment of that.
const TAKEN: Size = Size {
    servers: 2,
    until: 9,
    beats: 2,
    edits: 1,
    lost: 0,
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
    for (name, size) in sizes {
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
        (TAKEN, LeftOut::OwnFiles),
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
