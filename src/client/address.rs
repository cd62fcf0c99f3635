//! Where a server is and how it is reached: TCP, TLS or a Unix socket.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataMap, MetadataValue},
    service::Interceptor,
    transport::{Certificate, ClientTlsConfig, Endpoint, Error, Identity},
};

/// `host:port` or `http://host:port`, `https://host:port`, or `unix:/path`; several with commas between them, where
/// servers share scenes: each is tried in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    /// PEM; who may vouch for the server.
    ca: Option<Arc<[u8]>>,
    /// PEM; what the server is shown when it asks who calls.
    identity: Option<Arc<Shown>>,
    key: Option<Arc<Bearer>>,
    /// Of a client that is connected, and of all that comes from it.
    host: ProxiedHost,
}

/// The header by which a proxy in front of several servers (`deploy/envoy`) says which of them has answered, and by which it
/// is told where a call has to go.
const HOST: &str = "palpate-host";

/// The server that a client's calls go to, behind such a proxy: that of the first call that was answered well. `None`: of no
/// client yet.
#[derive(Clone, Debug, Default)]
struct ProxiedHost(Option<Arc<OnceLock<MetadataValue<Ascii>>>>);

/// It is found out and not part of an address.
impl PartialEq for ProxiedHost {
    fn eq(&self, _: &ProxiedHost) -> bool {
        true
    }
}

impl Eq for ProxiedHost {}

/// A certificate chain and its private key.
#[derive(PartialEq, Eq)]
struct Shown {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

// By hand: a derived one would print the private key into logs.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a certificate and its key")
    }
}

/// An API key as each call brings it.
#[derive(Debug, PartialEq, Eq)]
struct Bearer(MetadataValue<Ascii>);

/// Puts the key of an address, if it has one, on each call, and behind a proxy the server that the call has to go to.
#[derive(Clone)]
pub(super) struct BringKey {
    key: Option<Arc<Bearer>>,
    host: ProxiedHost,
}

impl Interceptor for BringKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.key {
            request.metadata_mut().insert("authorization", key.0.clone());
        }
        if let Some(host) = self.host.0.as_ref().and_then(|host| host.get()) {
            request.metadata_mut().insert(HOST, host.clone());
        }
        Ok(request)
    }
}

impl ServerAddress {
    /// Without TLS, unless the text begins with `https`.
    pub fn new(text: &str) -> ServerAddress {
        ServerAddress {
            text: text.to_owned(),
            ca: None,
            identity: None,
            key: None,
            host: ProxiedHost::default(),
        }
    }

    /// Trusts the certificates in a PEM file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn trusting(self, ca: &Path) -> io::Result<ServerAddress> {
        Ok(ServerAddress { ca: Some(fs::read(ca)?.into()), ..self })
    }

    /// Shows the certificate in a PEM file, whose private key is in another.
    ///
    /// # Errors
    /// The file that cannot be read, and why.
    pub fn showing(
        self,
        certificate: &Path,
        key: &Path,
    ) -> Result<ServerAddress, (PathBuf, io::Error)> {
        let read = |file: &Path| fs::read(file).map_err(|error| (file.to_owned(), error));
        let shown = Shown { certificate: read(certificate)?, key: read(key)? };
        Ok(ServerAddress { identity: Some(Arc::new(shown)), ..self })
    }

    /// Brings the API key in a file, white space around it aside.
    ///
    /// # Errors
    /// When it cannot be read, or is no key.
    pub fn with_key(self, file: &Path) -> io::Result<ServerAddress> {
        // Trimmed: most editors end a file with a line break, which no header may hold.
        let value = format!("Bearer {}", fs::read_to_string(file)?.trim());
        let mut value: MetadataValue<Ascii> = value.parse().map_err(io::Error::other)?;
        // Kept out of logs and out of HPACK's table.
        value.set_sensitive(true);
        Ok(ServerAddress { key: Some(Arc::new(Bearer(value))), ..self })
    }

    /// Each of them by itself.
    pub(super) fn each(&self) -> Vec<ServerAddress> {
        let one = |text: &str| ServerAddress { text: text.trim().to_owned(), ..self.clone() };
        // A path may have commas.
        if self.text.starts_with("unix:") {
            return vec![one(&self.text)];
        }
        self.text.split(',').map(one).collect()
    }

    /// The server that one of these named, by host and port: with TLS, key and certificates as here.
    pub fn at(&self, host_and_port: &str) -> ServerAddress {
        let scheme = if self.text.starts_with("https://") { "https://" } else { "" };
        let host = ProxiedHost::default();
        ServerAddress { text: format!("{scheme}{host_and_port}"), host, ..self.clone() }
    }

    /// What puts the key on each call.
    pub(super) fn key(&self) -> BringKey {
        BringKey { key: self.key.clone(), host: self.host.clone() }
    }

    /// Of one client: a connection that takes the place of this one's goes to the same server behind a proxy, and another
    /// client's need not.
    pub(super) fn of_one_client(&self) -> ServerAddress {
        let host = self.host.0.clone().unwrap_or_default();
        ServerAddress { host: ProxiedHost(Some(host)), ..self.clone() }
    }

    /// What a good answer says of where it comes from.
    pub(super) fn note_host(&self, answer: &MetadataMap) {
        if let (Some(known), Some(host)) = (&self.host.0, answer.get(HOST)) {
            known.get_or_init(|| host.clone());
        }
    }

    /// Ready to connect, without waiting to fill segments (TCP_NODELAY).
    ///
    /// # Errors
    /// When the text is no address, or the certificates are none.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Error> {
        // A Unix socket's path has one slash behind the colon.
        let is_uri = self.text.contains("://") || self.text.starts_with("unix:");
        let uri = if is_uri { self.text.clone() } else { format!("http://{}", self.text) };
        let is_tls = uri.starts_with("https://");
        // A pose is a small write after another: Nagle's algorithm would hold it back for a delayed acknowledgement,
        // 40 ms.
        let endpoint = Endpoint::from_shared(uri)?.tcp_nodelay(true);
        if !is_tls {
            return Ok(endpoint);
        }
        let ca = self.ca.iter().map(Certificate::from_pem);
        let mut tls = ClientTlsConfig::new().ca_certificates(ca);
        if let Some(shown) = &self.identity {
            tls = tls.identity(Identity::from_pem(&shown.certificate, &shown.key));
        }
        endpoint.tls_config(tls)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
