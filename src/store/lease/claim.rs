//! Claims of scenes, and the decision of a server that is asked for a scene.

use serde::{Deserialize, Serialize};

/// Ownership of a scene by one server, or by none, from this epoch on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneClaim {
    /// Epoch of the claim; rises with each claim of the scene, from 1.
    pub epoch: u64,
    /// Owner, or the reason why there is none.
    pub state: ClaimState,
}

/// Ownership state of a scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// Owned by a server.
    Owned(ClaimHolder),
    /// Released cleanly: any server that is asked for the scene takes it.
    Free,
    /// The scene was deleted; remaining files belong to nobody.
    Deleted,
}

/// A server that owns scenes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimHolder {
    /// Id of one process: a restarted server has another.
    pub server: String,
    /// Address under which clients reach it.
    pub address: String,
}

/// Owners from whom a server claims a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimFrom {
    /// An owner whose lease has expired, or nobody.
    Silent,
    /// Any owner, even a live one: an admin reports that it hangs.
    Anyone,
}

/// Decision of a server that is asked for a scene which it does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Reports that there is no such scene.
    Unknown,
    /// Reports the owner.
    Elsewhere {
        /// Owner of the scene.
        holder: ClaimHolder,
        /// Epoch of the owner's claim.
        epoch: u64,
    },
    /// Serves the scene: it was handed over to this server in this epoch.
    Own {
        /// Epoch of this server's claim.
        epoch: u64,
    },
    /// Claims the scene with this epoch.
    Claim {
        /// Next epoch.
        epoch: u64,
        /// Previous owner: its heartbeat is looked at once more, and the server waits until the lease has expired.
        before: Option<ClaimHolder>,
    },
}

impl SceneClaim {
    /// Decides what `own` does about a scene with this newest claim. `is_silent` returns true if a server has sent no
    /// heartbeat for the term of its lease.
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

    /// Returns the owner; `None` if there is none.
    pub fn holder(&self) -> Option<&ClaimHolder> {
        match &self.state {
            ClaimState::Owned(holder) => Some(holder),
            ClaimState::Free | ClaimState::Deleted => None,
        }
    }
}
