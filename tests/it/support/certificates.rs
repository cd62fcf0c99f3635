//! Certificate authorities, and servers and clients with their certificates.

use std::time::Duration;

use palpate::config::{self, Config};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{folder::Folder, server::TestServer};

/// A certificate authority that signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("good");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("signed"))
    }

    /// Signs a certificate; returns certificate and private key, PEM.
    pub fn sign(&self) -> (String, String) {
        self.sign_for(&["localhost", "palpate", "127.0.0.1"])
    }

    /// As [`Authority::sign`], for a server with other names.
    pub fn sign_for(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("good");
        // Not the authority's name: BoringSSL takes a certificate with its issuer's name for a self-signed one.
        params.distinguished_name.push(DnType::CommonName, "palpate");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }
}

/// A server with TLS that checks its files for changes every 10 ms.
pub async fn with_tls(
    folder: &Folder,
    server: &Authority,
    clients: Option<&Authority>,
) -> TestServer {
    let (certificate, key) = server.sign();
    let access = config::AccessSettings {
        certificate_file: Some(folder.write("server.pem", &certificate)),
        private_key_file: Some(folder.write("server.key", &key)),
        client_ca_file: clients.map(|ca| folder.write("clients.pem", &ca.pem())),
        reload_interval: Duration::from_millis(10),
        keys_file: None,
    };
    TestServer::lazily(Config { access, ..Config::default() }).await
}
