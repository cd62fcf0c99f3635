//! Where a server is and how it is reached: TCP, TLS or a Unix socket.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataMap, MetadataValue},
    service::Interceptor,
    transport::{Certificate, ClientTlsConfig, Endpoint, Error, Identity},
};

use super::proxied_host::{HOST, Host, ProxiedHost};

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
    /// Of a client that is connected, and of all that comes from it. `None`: of no client yet.
    host: Option<ProxiedHost>,
}

/// How a certificate begins in PEM.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

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
    host: Option<ProxiedHost>,
}

impl Interceptor for BringKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.key {
            request.metadata_mut().insert("authorization", key.0.clone());
        }
        if let Some(host) = self.host.as_ref().and_then(ProxiedHost::header) {
            request.metadata_mut().insert(HOST, host);
        }
        Ok(request)
    }
}

impl ServerAddress {
    /// Without TLS, unless the text begins with `https`.
    pub fn new(text: &str) -> ServerAddress {
        ServerAddress { text: text.to_owned(), ca: None, identity: None, key: None, host: None }
    }

    /// Trusts the certificates in a PEM file.
    ///
    /// # Errors
    /// When it cannot be read, or has no certificate.
    pub fn trusting(self, ca: &Path) -> io::Result<ServerAddress> {
        let pem = fs::read(ca)?;
        // Without one nobody vouches for the server, and the handshake would say that of the server.
        if !pem.windows(CERTIFICATE.len()).any(|part| part == CERTIFICATE) {
            return Err(io::Error::other("no certificate is in it, expected one in PEM"));
        }
        Ok(ServerAddress { ca: Some(pem.into()), ..self })
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
        if self.is_unix() {
            return vec![one(&self.text)];
        }
        self.text.split(',').map(one).collect()
    }

    /// The server that this one named, by host and port: with TLS, key and certificates as here. Behind a proxy that is where
    /// calls go on, with another header.
    pub fn at(&self, host_and_port: &str) -> ServerAddress {
        let behind = self.host.as_ref().and_then(|host| host.of_owner(host_and_port));
        if behind.is_some() {
            return ServerAddress { host: behind, ..self.clone() };
        }
        let scheme = if self.text.starts_with("https://") { "https://" } else { "" };
        ServerAddress { text: format!("{scheme}{host_and_port}"), host: None, ..self.clone() }
    }

    /// The same address with TLS; `None` where there is TLS already, none is needed, or somebody has answered without.
    pub(super) fn with_tls(&self) -> Option<String> {
        if self.host.as_ref().is_some_and(ProxiedHost::has_answered) {
            return None;
        }
        let host = self.text.strip_prefix("http://").unwrap_or(&self.text);
        let is_other = host.contains("://") || self.is_unix();
        (!is_other).then(|| format!("https://{host}"))
    }

    /// What puts the key on each call.
    pub(super) fn key(&self) -> BringKey {
        BringKey { key: self.key.clone(), host: self.host.clone() }
    }

    /// Of one client: a connection that takes the place of this one's goes to the same server behind a proxy, and another
    /// client's need not.
    pub(super) fn of_one_client(&self) -> ServerAddress {
        let host = self.host.clone().unwrap_or_default();
        ServerAddress { host: Some(host), ..self.clone() }
    }

    /// The same for one that goes its own way from here.
    pub(super) fn apart(&self) -> ServerAddress {
        let host = self.host.as_ref().map(ProxiedHost::apart);
        ServerAddress { host, ..self.clone() }.of_one_client()
    }

    /// Tells servers apart, those behind a proxy too.
    pub(super) fn place(&self) -> (String, Option<Host>) {
        (self.text.clone(), self.host.as_ref().and_then(ProxiedHost::header))
    }

    /// What an answer says of where it comes from.
    pub(super) fn hear_host(&self, answer: &MetadataMap) {
        self.host.iter().for_each(|host| host.hear(answer));
    }

    /// The answer heard last is a good one.
    pub(super) fn keep_host(&self) {
        self.host.iter().for_each(ProxiedHost::keep);
    }

    /// Nobody served there. Whether there are other servers behind the same address, one of which is asked the next time.
    pub(super) fn leave_host(&self) -> bool {
        self.host.as_ref().is_some_and(ProxiedHost::leave)
    }

    /// Whether a server that knows nothing was asked in another's place. That one is asked the next time.
    pub(super) fn go_back(&self) -> bool {
        self.host.as_ref().is_some_and(ProxiedHost::go_back)
    }

    /// Whether it is a path of this machine.
    pub(super) fn is_unix(&self) -> bool {
        self.text.starts_with("unix:")
    }

    /// Ready to connect, without waiting to fill segments (TCP_NODELAY).
    ///
    /// # Errors
    /// When the text is no address, or the certificates are none.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Error> {
        // A Unix socket's path has one slash behind the colon.
        let is_uri = self.text.contains("://") || self.is_unix();
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
