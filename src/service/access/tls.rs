//! The server's certificate, and the certificate authorities of its clients.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

use super::credential_file::{AccessError, read_file};
use crate::config;

// Settings that name the files.
const CERTIFICATE: &str = "access.certificate_file";
const PRIVATE_KEY: &str = "access.private_key_file";
const CLIENT_CA: &str = "access.client_ca_file";

/// Paths of the certificate files.
pub struct Files {
    certificate: PathBuf,
    private_key: PathBuf,
    client_ca: Option<PathBuf>,
}

impl Files {
    /// Returns the configured paths; `None` without TLS.
    pub fn of(access: &config::AccessSettings) -> Option<Files> {
        Some(Files {
            certificate: access.certificate_file.clone()?,
            private_key: access.private_key_file.clone()?,
            client_ca: access.client_ca_file.clone(),
        })
    }

    /// Returns all paths.
    pub fn all(&self) -> Vec<PathBuf> {
        let all = [Some(&self.certificate), Some(&self.private_key), self.client_ca.as_ref()];
        all.into_iter().flatten().cloned().collect()
    }

    /// Reads the TLS configuration for new connections: TLS 1.2 or 1.3, HTTP/2.
    ///
    /// # Errors
    /// The first unusable file.
    pub fn read(&self) -> Result<ServerConfig, AccessError> {
        let provider = Arc::new(ring::default_provider());
        let certificates = certificates_of(CERTIFICATE, &self.certificate)?;
        let key = read_file(PRIVATE_KEY, &self.private_key)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| {
            AccessError::new(PRIVATE_KEY, &self.private_key, "expected a private key in PEM")
        })?;
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has them");
        let config = match &self.client_ca {
            None => config.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates_of(CLIENT_CA, file)? {
                    roots.add(certificate).map_err(|e| AccessError::new(CLIENT_CA, file, e))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                config.with_client_cert_verifier(
                    verifier.map_err(|e| AccessError::new(CLIENT_CA, file, e))?,
                )
            }
        };
        let config = config.with_single_cert(certificates, key);
        let mut config = config.map_err(|e| AccessError::new(CERTIFICATE, &self.certificate, e))?;
        // A client that speaks HTTP/1.1 only is refused in the handshake, before it waits for a preface.
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn certificates_of(
    setting: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let text = read_file(setting, file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match all {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(AccessError::new(setting, file, "expected certificates in PEM")),
    }
}
