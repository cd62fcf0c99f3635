//! Lease of one scene: this server's claim of the scene, and whether it still holds.

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
    /// A claim that ends this lease may be stored: a server that sees it does not wait until this server answers no
    /// more.
    is_ending: AtomicBool,
    /// The scene's newest claim could not be read: it may be another server's.
    is_doubtful: AtomicBool,
}

/// Owner of a scene that is no longer this server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOwner {
    /// Address at which the scene is served; `None` if nobody owns it: the next server that is asked for it takes it.
    pub address: Option<String>,
    /// Epoch since which this holds.
    pub epoch: u64,
}

impl NewOwner {
    /// Returns the owner that a claim names.
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
    /// Creates the lease of a scene that this server has claimed, or was handed over, with this epoch.
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

    /// Scene id.
    pub fn scene(&self) -> &str {
        &self.scene
    }

    /// Epoch of this server's claim.
    pub fn epoch(&self) -> u64 {
        self.claim.epoch
    }

    /// Returns true while no other server answers for the scene, by this server's clock. Cheap enough for a tick.
    pub fn answers(&self) -> bool {
        let is_own = !self.is_ending.load(Relaxed) && !self.is_doubtful.load(Relaxed);
        is_own && self.membership.answers()
    }

    /// Sets whether the newest claim was unreadable after the last heartbeat. Returns true if that changed.
    pub fn set_doubtful(&self, is_doubtful: bool) -> bool {
        self.is_doubtful.swap(is_doubtful, Relaxed) != is_doubtful
    }

    /// Returns the scene's new owner, or `None` if this server still owns it. Reads the claims.
    ///
    /// # Errors
    /// Returns an error if the claims cannot be read.
    pub fn new_owner(&self) -> io::Result<Option<NewOwner>> {
        // A server's own claim never changes, and need not be read again.
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
            // Somebody has removed the claims.
            None => Some(NewOwner { address: None, epoch: self.claim.epoch }),
        })
    }

    /// Records that the files of a new scene exist, so that no server takes the scene for never created while they are
    /// away.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn note_made(&self) -> io::Result<()> {
        self.membership.note_made(&self.scene, self.claim.epoch)
    }

    /// Ends the lease in good order. Returns the new owner: `to` or nobody, unless another server was first.
    ///
    /// # Errors
    /// I/O errors of the store. The lease then goes on, unless it is unknown whether the claim is stored or still
    /// arrives: then the lease does not answer until that is known, and waits for [`SceneLease::end_again`].
    pub fn give_up(&self, to: Option<&ClaimHolder>) -> io::Result<NewOwner> {
        let state = to.map_or(ClaimState::Free, |holder| ClaimState::Owned(holder.clone()));
        let claim = SceneClaim { epoch: self.claim.epoch + 1, state };
        if self.end(&claim)? {
            return Ok(NewOwner::of(&claim));
        }
        let owner = self.new_owner()?;
        Ok(owner.unwrap_or(NewOwner { address: None, epoch: claim.epoch }))
    }

    /// Ends the lease and the scene. From then on nobody reads the scene's files. Returns the new owner if another
    /// server was first.
    ///
    /// # Errors
    /// See [`SceneLease::give_up`].
    pub fn delete(&self) -> io::Result<Option<NewOwner>> {
        let end = SceneClaim { epoch: self.claim.epoch + 1, state: ClaimState::Deleted };
        let is_first = self.end(&end)?;
        if is_first { Ok(None) } else { self.new_owner() }
    }

    /// Puts a claim again that was to end this lease and whose outcome is unknown. It has the same epoch as the claim
    /// that may still arrive, so that one of the two counts. Returns the scene's new owner; `None` if there is no such
    /// claim.
    ///
    /// # Errors
    /// I/O errors of the store.
    pub fn end_again(&self) -> io::Result<Option<NewOwner>> {
        let Some(claim) = self.membership.open_end(&self.scene, self.claim.epoch) else {
            return Ok(None);
        };
        if self.end(&claim)? { Ok(Some(NewOwner::of(&claim))) } else { self.new_owner() }
    }

    /// Puts a claim that ends the lease. Returns false if another server was first.
    fn end(&self, claim: &SceneClaim) -> io::Result<bool> {
        // Set before the put: another server may answer as soon as the claim is stored.
        self.is_ending.store(true, Relaxed);
        let put = self.membership.put_end(&self.scene, claim);
        if put.is_err() && self.membership.open_end(&self.scene, self.claim.epoch).is_none() {
            self.is_ending.store(false, Relaxed);
        }
        put
    }
}
