//! The files with which a command authenticates itself and verifies a server.

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::Args;

use super::ServerAddress;

/// Files of certificates and keys.
#[derive(Args, Clone, Debug, Default)]
pub struct Credentials {
    /// CA certificates (PEM) that may vouch for an https server.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Certificate chain (PEM) to present to an https server that asks for one.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// Private key (PEM) of that certificate.
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// File with the API key that each call carries.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {error}", file.display())]
pub struct CredentialsError {
    file: PathBuf,
    #[source]
    error: io::Error,
}

impl Credentials {
    /// Returns true if no file is given.
    pub fn is_empty(&self) -> bool {
        let Credentials { tls_ca, client_certificate, client_key, key_file } = self;
        [tls_ca, client_certificate, client_key, key_file].iter().all(|file| file.is_none())
    }

    /// Returns the server's address with these credentials.
    ///
    /// # Errors
    /// Returns the first file that cannot be used.
    pub fn shown_to(&self, mut server: ServerAddress) -> Result<ServerAddress, CredentialsError> {
        let unread = |file: &Path| {
            let file = file.to_owned();
            move |error| CredentialsError { file, error }
        };
        if let Some(ca) = &self.tls_ca {
            server = server.trusting(ca).map_err(unread(ca))?;
        }
        if let Some(key) = &self.key_file {
            server = server.with_key_file(key).map_err(unread(key))?;
        }
        if let (Some(certificate), Some(key)) = (&self.client_certificate, &self.client_key) {
            let shown = server.showing(certificate, key);
            server = shown.map_err(|(file, error)| CredentialsError { file, error })?;
        }
        Ok(server)
    }
}
