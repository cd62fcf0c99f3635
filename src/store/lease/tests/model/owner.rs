//! Steps of an owner on the scene's files, and of a server that becomes the owner: each step on its own.

use super::{
    Clocks, Edit, LeftOut, Owned, Size, Stage, Taking, Under, World,
    files::{Files, Found},
    term,
};
use crate::store::scenes::generations::{first_generation, next_generation};

impl Owned {
    /// Continues the files with the next journal.
    fn begin(&mut self, files: &mut Files) -> bool {
        let next = next_generation(self.epoch.into(), self.greatest).expect("its own");
        (self.greatest, self.is_open) = (next, true);
        files.begin(next, self.state.len())
    }
}

impl World {
    /// Continues to take the scene: by one step if clocks are ignored, otherwise to the end once the server has waited.
    pub(super) fn recover(&self, n: usize, left_out: LeftOut) -> Option<World> {
        let is_waiting = |world: &World| {
            matches!(world.servers[n].taking, Some(Taking::Claimed(_) | Taking::Waits(_)))
        };
        let mut next = self.take_on(n, left_out)?;
        if self.clocks == Clocks::Ignored || is_waiting(&next) {
            return Some(next);
        }
        while let Some(on) = next.take_on(n, left_out) {
            next = on;
        }
        Some(next)
    }

    /// Lists the files, reads them, looks at its claim, begins files of its own, and removes needless files.
    fn take_on(&self, n: usize, left_out: LeftOut) -> Option<World> {
        let mut next = self.clone();
        let epoch = self.servers[n].claimed?;
        let on = match self.servers[n].taking.clone()? {
            Taking::Claimed(before) => Taking::Waits(next.see(n, before).silent_from_ns(term())),
            Taking::Waits(until) if self.now(n) < until => return None,
            Taking::Waits(_) => {
                next.servers[n].seen.fill(None);
                Taking::Listed(self.files.list())
            }
            Taking::Listed(listed) => {
                let (found, now) = (self.files.read(&listed), self.files.list());
                let is_again = found.is_broken && now != listed && left_out != LeftOut::ReadAgain;
                if is_again { Taking::Listed(now) } else { Taking::Read(found) }
            }
            Taking::Read(found) => {
                if !self.is_newest(n) && left_out != LeftOut::LookBetween {
                    next.servers[n].lose();
                    return Some(next);
                }
                Taking::Checked(found)
            }
            Taking::Checked(Found { state, greatest, .. }) if left_out == LeftOut::OwnFiles => {
                Taking::Recovered(Owned { epoch, state, greatest, is_open: true })
            }
            Taking::Checked(Found { state, greatest, .. }) => {
                let after = first_generation(epoch.into()).max(greatest + 1);
                let generation = match left_out {
                    LeftOut::LookBetween => Ok(after),
                    _ => next_generation(epoch.into(), greatest),
                };
                let greatest = generation.unwrap_or(0);
                if generation.is_err() || !next.files.begin(greatest, state.len()) {
                    next.servers[n].lose();
                    return Some(next);
                }
                Taking::Begun(Owned { epoch, state, greatest, is_open: true })
            }
            Taking::Begun(own) => {
                next.files.put(own.greatest, own.state.clone());
                Taking::Kept(own)
            }
            Taking::Kept(own) => match self.files.needless_before() {
                Some(oldest) => Taking::Needless(own, oldest),
                None => Taking::Recovered(own),
            },
            Taking::Needless(own, oldest) => {
                next.files.remove_before(oldest);
                Taking::Recovered(own)
            }
            Taking::Recovered(_) => return None,
        };
        next.servers[n].taking = Some(on);
        Some(next)
    }

    /// Serves the recovered scene, if the newest claim is still the server's own.
    pub(super) fn serve(&self, n: usize, left_out: LeftOut) -> Option<Result<World, String>> {
        let Some(Taking::Recovered(owned)) = &self.servers[n].taking else { return None };
        let mut next = self.clone();
        if !self.is_newest(n) && left_out != LeftOut::LastLook {
            next.servers[n].lose();
            return Some(Ok(next));
        }
        if let Some(lost) = self.missing_in(&owned.state) {
            return Some(Err(format!("{lost:?} was acknowledged, and {owned:?} has it not")));
        }
        let own = &mut next.servers[n];
        (own.taking, own.serves) = (None, Some(owned.clone()));
        Some(Ok(next))
    }

    /// Looks at the claim before a change is written.
    pub(super) fn begin_change(&self, n: usize, size: Size) -> Option<World> {
        let own = &self.servers[n];
        let is_locked = own.change.is_some()
            || own.snapshot.as_ref().is_some_and(|under| under.stage == Stage::Checked);
        let may = self.answers(n) && self.is_newest(n) && self.edits < size.edits && !is_locked;
        let of = own.serves.clone().filter(|_| may)?;
        let mut next = self.clone();
        next.edits += 1;
        let edit = Some(Edit { number: next.edits, epoch: of.epoch });
        next.servers[n].change = Some(Under { stage: Stage::Checked, edit, of });
        Some(next)
    }

    /// Writes the current change, and looks at the claim again to acknowledge it.
    pub(super) fn change(&self, n: usize, size: Size, left_out: LeftOut) -> Vec<World> {
        let Some(Under { stage, edit: Some(edit), of }) = self.servers[n].change.clone() else {
            return Vec::new();
        };
        let mut next = self.clone();
        let mut of_next = of.clone();
        if stage == Stage::Checked {
            let stage = if of.is_open {
                next.files.append(of.greatest, edit);
                Stage::Written
            } else {
                assert!(of_next.begin(&mut next.files), "{of_next:?} is there already");
                Stage::Checked
            };
            next.servers[n].change = Some(Under { stage, edit: Some(edit), of: of_next });
            return vec![next];
        }
        let is_served = self.servers[n].claimed == Some(edit.epoch);
        next.servers[n].change = None;
        let mut all = Vec::new();
        if self.doubts < size.doubts && is_served {
            // The claims cannot be read: nothing is acknowledged, and the next journal begins before the record.
            let mut torn = next.clone();
            torn.doubts += 1;
            let own = torn.servers[n].serves.as_mut();
            own.into_iter().for_each(|own| (own.greatest, own.is_open) = (of.greatest, false));
            all.push(torn);
        }
        let is_own = match left_out {
            LeftOut::Fence => self.answers(n),
            _ => self.owner == Some(n) && self.epoch == edit.epoch,
        };
        if is_own {
            next.acknowledged.push((of.state.len(), edit));
            of_next.state.push(edit);
            let own = next.servers[n].serves.as_mut().filter(|own| own.epoch == edit.epoch);
            own.into_iter().for_each(|own| *own = of_next.clone());
        } else if is_served {
            next.servers[n].lose();
        }
        all.push(next);
        all
    }

    /// Snapshot of an owner, concurrent with its changes: looks at the claim, begins a journal, writes the snapshot,
    /// and removes needless files. Nothing stops it if the scene is lost meanwhile.
    pub(super) fn snapshot(&self, n: usize, size: Size) -> Option<World> {
        let mut next = self.clone();
        let own = &self.servers[n];
        let Some(Under { stage, mut of, .. }) = own.snapshot.clone() else {
            let may = own.change.is_none() && self.is_newest(n) && self.snapshots < size.snapshots;
            let of = own.serves.clone().filter(|_| may)?;
            next.snapshots += 1;
            next.servers[n].snapshot = Some(Under { stage: Stage::Checked, edit: None, of });
            return Some(next);
        };
        let stage = match stage {
            Stage::Checked => {
                assert!(of.begin(&mut next.files), "{of:?} is there already");
                let served = next.servers[n].serves.as_mut().filter(|own| own.epoch == of.epoch);
                served.into_iter().for_each(|own| *own = of.clone());
                Some(Stage::Begun)
            }
            Stage::Begun => {
                next.files.put(of.greatest, of.state.clone());
                Some(Stage::Written)
            }
            Stage::Written => self.files.needless_before().map(Stage::Needless),
            Stage::Needless(oldest) => {
                next.files.remove_before(oldest);
                None
            }
        };
        next.servers[n].snapshot = stage.map(|stage| Under { stage, edit: None, of });
        Some(next)
    }
}
