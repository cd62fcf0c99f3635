//! One scene that is this server's, and whether it still is.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use super::membership::Membership;
use crate::store::lease::claim::{ClaimHolder, ClaimState, SceneClaim};

/// This server's claim of a scene.
pub struct SceneLease {
    scene: String,
    claim: SceneClaim,
    membership: Arc<Membership>,
    /// A claim that ends it may be there: who sees that does not wait until this server answers no more.
    is_ending: AtomicBool,
    /// Its newest claim could not be read: it may be another's.
    is_doubtful: AtomicBool,
}

/// Whose a scene is that is not this server's any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOwner {
    /// Where it is served; `None`: nobody's, and whoever is asked for it takes it.
    pub address: Option<String>,
    /// Since when.
    pub epoch: u64,
}

impl NewOwner {
    /// As a claim says.
    pub fn of(claim: &SceneClaim) -> NewOwner {
        let address = claim.holder().map(|holder| holder.address.clone());
        NewOwner { address, epoch: claim.epoch }
    }
}

impl fmt::Display for NewOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => {
                write!(f, "is owned by the server at {address} since epoch {}", self.epoch)
            }
            None => write!(f, "is no server's since epoch {}: ask for it again", self.epoch),
        }
    }
}

impl SceneLease {
    /// Of a scene that this server has claimed with this epoch, or was handed over with it.
    pub fn new(membership: &Arc<Membership>, scene: &str, epoch: u64) -> SceneLease {
        let state = ClaimState::Owned(membership.own().clone());
        let claim = SceneClaim { epoch, state };
        let (scene, membership) = (scene.to_owned(), Arc::clone(membership));
        SceneLease {
            scene,
            claim,
            membership,
            is_ending: AtomicBool::new(false),
            is_doubtful: AtomicBool::new(false),
        }
    }

    /// Its id.
    pub fn scene(&self) -> &str {
        &self.scene
    }

    /// Since when.
    pub fn epoch(&self) -> u64 {
        self.claim.epoch
    }

    /// Whether nobody else answers for the scene yet, as far as this server's clock says. Cheap enough for a tick.
    pub fn answers(&self) -> bool {
        let is_own = !self.is_ending.load(Relaxed) && !self.is_doubtful.load(Relaxed);
        is_own && self.membership.answers()
    }

    /// Whether its newest claim could be read after the last sign of life. Returns whether that is new.
    pub fn set_doubtful(&self, is_doubtful: bool) -> bool {
        self.is_doubtful.swap(is_doubtful, Relaxed) != is_doubtful
    }

    /// Whose the scene is by now; `None`: still this server's. Reads the claims.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn new_owner(&self) -> io::Result<Option<NewOwner>> {
        // Its own claim is never changed, and need not be read again.
        let epochs = self.membership.newest_epochs(std::slice::from_ref(&self.scene))?;
        if epochs == [Some(self.claim.epoch)] {
            return Ok(None);
        }
        Ok(match self.membership.newest(&self.scene)? {
            Some(claim) if claim == self.claim => None,
            Some(claim) => {
                self.membership.close_end(&self.scene);
                Some(NewOwner::of(&claim))
            }
            // Somebody has taken the claims away.
            None => Some(NewOwner { address: None, epoch: self.claim.epoch }),
        })
    }

    /// Notes that the files of a new scene are there, so that nobody takes them for never made while they are away.
    ///
    /// # Errors
    /// The system's.
    pub fn note_made(&self) -> io::Result<()> {
        self.membership.note_made(&self.scene, self.claim.epoch)
    }

    /// Ends it in good order. Whose the scene is then: as said, unless another was first.
    ///
    /// # Errors
    /// The system's; it goes on then, unless it is not known whether the claim is there or still comes: it answers no more
    /// until that is known, and waits for [`SceneLease::end_again`].
    pub fn give_up(&self, to: Option<&ClaimHolder>) -> io::Result<NewOwner> {
        let state = to.map_or(ClaimState::Free, |holder| ClaimState::Owned(holder.clone()));
        let claim = SceneClaim { epoch: self.claim.epoch + 1, state };
        if self.end(&claim)? {
            return Ok(NewOwner::of(&claim));
        }
        let owner = self.new_owner()?;
        Ok(owner.unwrap_or(NewOwner { address: None, epoch: claim.epoch }))
    }

    /// Ends it and the scene. From then on nobody reads its files. The new owner, when another was first.
    ///
    /// # Errors
    /// As [`SceneLease::give_up`].
    pub fn delete(&self) -> io::Result<Option<NewOwner>> {
        let end = SceneClaim { epoch: self.claim.epoch + 1, state: ClaimState::Deleted };
        let is_first = self.end(&end)?;
        if is_first { Ok(None) } else { self.new_owner() }
    }

    /// Puts a claim again that was to end it, and of which nothing is known: it has the same place as what may still come,
    /// so that one of the two counts. Whose the scene is then; `None` when there is no such claim.
    ///
    /// # Errors
    /// The system's.
    pub fn end_again(&self) -> io::Result<Option<NewOwner>> {
        let Some(claim) = self.membership.open_end(&self.scene, self.claim.epoch) else {
            return Ok(None);
        };
        if self.end(&claim)? { Ok(Some(NewOwner::of(&claim))) } else { self.new_owner() }
    }

    /// Puts a claim that ends it. False when another was first.
    fn end(&self, claim: &SceneClaim) -> io::Result<bool> {
        // Before: another server may answer as soon as the claim is there.
        self.is_ending.store(true, Relaxed);
        let put = self.membership.put_end(&self.scene, claim);
        if put.is_err() && self.membership.open_end(&self.scene, self.claim.epoch).is_none() {
            self.is_ending.store(false, Relaxed);
        }
        put
    }
}
