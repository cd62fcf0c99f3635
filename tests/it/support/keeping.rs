//! Storage of the scenes of one test's servers, which run in sequence or concurrently.

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{bucket::Bucket, folder::Folder, process::Process, program::under_test};

/// A folder, or an object store.
pub struct Keeping {
    /// Folder of all servers; with an object store each server has its own folder in it.
    folder: Folder,
    bucket: Option<Bucket>,
    variables: Vec<(&'static str, String)>,
    n_servers: AtomicUsize,
}

impl Keeping {
    pub fn in_folder(name: &str) -> Keeping {
        Keeping {
            folder: Folder::new(name),
            bucket: None,
            variables: Vec::new(),
            n_servers: AtomicUsize::new(0),
        }
    }

    /// Returns `None` if there is no stand-in for an object store.
    pub fn in_bucket(name: &str) -> Option<Keeping> {
        let bucket = Bucket::open()?;
        let variables = Bucket::variables(bucket.address);
        Some(Keeping { bucket: Some(bucket), variables, ..Keeping::in_folder(name) })
    }

    /// Address of the bucket, for a test that controls the network to it.
    pub fn store(&self) -> std::net::SocketAddr {
        self.bucket.as_ref().expect("in a bucket").address
    }

    /// A container `palpate` of Azurite, which stands in for Azure; `None` unless `PALPATE_AZURITE` names the address
    /// of one.
    pub fn in_container(name: &str) -> Option<Keeping> {
        let Ok(address) = std::env::var("PALPATE_AZURITE") else {
            println!("skipped: PALPATE_AZURITE is no address as http://127.0.0.1:10000");
            return None;
        };
        // Independent of what earlier runs have left there.
        let run = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("later").as_nanos();
        let variables = vec![
            ("PALPATE_STORE_URL", format!("az://palpate/{name}-{run}")),
            ("PALPATE_CLUSTER_SHARED", "true".to_owned()),
            ("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()),
            ("AZURITE_BLOB_STORAGE_URL", address),
        ];
        Some(Keeping { variables, ..Keeping::in_folder(name) })
    }

    /// Folder of the servers that share one.
    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    /// Checks that the command `palpate scenes verify` reports all scenes of the folder as whole.
    pub fn verify(&self) {
        let mut command = Command::new(under_test());
        command.args(["scenes", "verify", "--data-dir"]).arg(self.path());
        let done = command.env("RUST_LOG", "off").output().expect("it was built");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("whole"), "{said}{errors}");
    }

    /// Starts a server with these variables as well.
    pub fn serve(&self, variables: &[(&str, &str)]) -> Process {
        let own = self.variables.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<(&str, &str)> = own.chain(variables.iter().copied()).collect();
        if self.variables.is_empty() {
            return Process::serve_keeping(&self.folder.0, &[], &all);
        }
        // Each server has its own disk, unknown to the others.
        let n = self.n_servers.fetch_add(1, Relaxed);
        Process::serve_keeping(&self.folder.0.join(n.to_string()), &[], &all)
    }
}
