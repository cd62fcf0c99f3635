//! A claim of a scene, and what a server that is asked for the scene makes of it.

use serde::{Deserialize, Serialize};

/// One server's ownership of a scene, or that there is no owner from this epoch on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneClaim {
    /// Rises with each claim of the scene, from 1.
    pub epoch: u64,
    /// Whose it is.
    pub state: ClaimState,
}

/// Whose a scene is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// A server's.
    Owned(ClaimHolder),
    /// Given up in good order: whoever is asked for it takes it.
    Free,
    /// There is no such scene any more; files that are left are nobody's.
    Deleted,
}

/// A server that owns scenes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimHolder {
    /// Of one process: a server that is started again is another.
    pub server: String,
    /// Where its clients find it.
    pub address: String,
}

/// From whom a server claims a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimFrom {
    /// An owner that is silent, or nobody.
    Silent,
    /// Its owner, whatever that does: an admin says that it hangs.
    Anyone,
}

/// What a server does that is asked for a scene which it does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Says that there is none.
    Unknown,
    /// Names the owner.
    Elsewhere {
        /// It.
        holder: ClaimHolder,
        /// Since when.
        epoch: u64,
    },
    /// Serves it: it was handed over in this epoch.
    Own {
        /// Its own.
        epoch: u64,
    },
    /// Claims it with this epoch.
    Claim {
        /// The next one.
        epoch: u64,
        /// Who had it: is looked at once more, and waited for until it is silent.
        before: Option<ClaimHolder>,
    },
}

impl SceneClaim {
    /// What `own` does about a scene with this newest claim. `is_silent`: whether a server has given no sign of life for
    /// the term of its lease.
    pub fn opening(
        &self,
        own: &ClaimHolder,
        from: ClaimFrom,
        is_silent: impl Fn(&ClaimHolder) -> bool,
    ) -> Opening {
        let epoch = self.epoch + 1;
        match &self.state {
            ClaimState::Deleted => Opening::Unknown,
            ClaimState::Free => Opening::Claim { epoch, before: None },
            ClaimState::Owned(holder) if holder == own => Opening::Own { epoch: self.epoch },
            ClaimState::Owned(holder) if from == ClaimFrom::Anyone || is_silent(holder) => {
                Opening::Claim { epoch, before: Some(holder.clone()) }
            }
            ClaimState::Owned(holder) => {
                Opening::Elsewhere { holder: holder.clone(), epoch: self.epoch }
            }
        }
    }

    /// Its owner; `None` when it has none.
    pub fn holder(&self) -> Option<&ClaimHolder> {
        match &self.state {
            ClaimState::Owned(holder) => Some(holder),
            ClaimState::Free | ClaimState::Deleted => None,
        }
    }
}
