//! Address of a server, reached over TCP, TLS or a Unix socket.

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

/// Address in the form `host:port` or `http://host:port`, `https://host:port`, or `unix:/path`. Servers that share
/// scenes are listed with commas between them: each is tried in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    /// CA certificates that the client trusts, PEM.
    ca: Option<Arc<[u8]>>,
    /// Certificate and key that the client presents on request, PEM.
    identity: Option<Arc<Shown>>,
    key: Option<Arc<Bearer>>,
    /// Host behind a proxy, shared by a connected client and everything derived from it. `None`: not connected yet.
    host: Option<ProxiedHost>,
}

/// First line of a certificate in PEM.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// A certificate chain and its private key.
#[derive(PartialEq, Eq)]
struct Shown {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

// A derived implementation would print the private key into logs.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a certificate and its key")
    }
}

/// An API key in the form that each call carries.
#[derive(Debug, PartialEq, Eq)]
struct Bearer(MetadataValue<Ascii>);

/// Adds the address's key, if any, to each call, and behind a proxy the server that the call has to reach.
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
    /// Creates an address without TLS, unless the text begins with `https`.
    pub fn new(text: &str) -> ServerAddress {
        ServerAddress { text: text.to_owned(), ca: None, identity: None, key: None, host: None }
    }

    /// Trusts the certificates in a PEM file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no certificate.
    pub fn trusting(self, ca: &Path) -> io::Result<ServerAddress> {
        let pem = fs::read(ca)?;
        // Without a certificate no server could be verified, and the handshake would blame the server.
        if !pem.windows(CERTIFICATE.len()).any(|part| part == CERTIFICATE) {
            return Err(io::Error::other("no certificate is in it, expected one in PEM"));
        }
        Ok(ServerAddress { ca: Some(pem.into()), ..self })
    }

    /// Presents the certificate in a PEM file, whose private key is in another.
    ///
    /// # Errors
    /// Returns the file that cannot be read, and the reason.
    pub fn showing(
        self,
        certificate: &Path,
        key: &Path,
    ) -> Result<ServerAddress, (PathBuf, io::Error)> {
        let read = |file: &Path| fs::read(file).map_err(|error| (file.to_owned(), error));
        let shown = Shown { certificate: read(certificate)?, key: read(key)? };
        Ok(ServerAddress { identity: Some(Arc::new(shown)), ..self })
    }

    /// Adds the API key in a file, without surrounding white space.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or holds no key.
    pub fn with_key_file(self, file: &Path) -> io::Result<ServerAddress> {
        self.with_key(&fs::read_to_string(file)?)
    }

    /// Adds an API key, without surrounding white space.
    ///
    /// # Errors
    /// Returns an error if the key has a character that no header can hold.
    pub fn with_key(self, key: &str) -> io::Result<ServerAddress> {
        // Most editors end a file with a line break, which no header may hold.
        let value = format!("Bearer {}", key.trim());
        let mut value: MetadataValue<Ascii> = value.parse().map_err(io::Error::other)?;
        // A sensitive value stays out of logs and out of HPACK's table.
        value.set_sensitive(true);
        Ok(ServerAddress { key: Some(Arc::new(Bearer(value))), ..self })
    }

    /// Splits the address into its single addresses.
    pub(super) fn each(&self) -> Vec<ServerAddress> {
        let one = |text: &str| ServerAddress { text: text.trim().to_owned(), ..self.clone() };
        // A path may have commas.
        if self.is_unix() {
            return vec![one(&self.text)];
        }
        self.text.split(',').map(one).collect()
    }

    /// Returns the address of the server at `host_and_port`, with TLS, key and certificates of this address. Behind a
    /// proxy calls continue to this address, with another header.
    pub fn at(&self, host_and_port: &str) -> ServerAddress {
        let behind = self.host.as_ref().and_then(|host| host.of_owner(host_and_port));
        if behind.is_some() {
            return ServerAddress { host: behind, ..self.clone() };
        }
        let scheme = if self.text.starts_with("https://") { "https://" } else { "" };
        ServerAddress { text: format!("{scheme}{host_and_port}"), host: None, ..self.clone() }
    }

    /// Returns this address with TLS; `None` if it has TLS, needs none, or a server has answered without TLS.
    pub(super) fn with_tls(&self) -> Option<String> {
        if self.host.as_ref().is_some_and(ProxiedHost::has_answered) {
            return None;
        }
        let host = self.text.strip_prefix("http://").unwrap_or(&self.text);
        let is_other = host.contains("://") || self.is_unix();
        (!is_other).then(|| format!("https://{host}"))
    }

    /// Returns the interceptor that adds the key to each call.
    pub(super) fn key(&self) -> BringKey {
        BringKey { key: self.key.clone(), host: self.host.clone() }
    }

    /// Prepares the address for one client: behind a proxy, a connection that replaces one of the client's goes to the
    /// same server, while another client's may go to a different one.
    pub(super) fn of_one_client(&self) -> ServerAddress {
        let host = self.host.clone().unwrap_or_default();
        ServerAddress { host: Some(host), ..self.clone() }
    }

    /// Returns a copy whose host behind a proxy changes independently from here on.
    pub(super) fn apart(&self) -> ServerAddress {
        let host = self.host.as_ref().map(ProxiedHost::apart);
        ServerAddress { host, ..self.clone() }.of_one_client()
    }

    /// Returns the identity of the server, also behind a proxy.
    pub(super) fn place(&self) -> (String, Option<Host>) {
        (self.text.clone(), self.host.as_ref().and_then(ProxiedHost::header))
    }

    /// Notes the server that an answer comes from.
    pub(super) fn hear_host(&self, answer: &MetadataMap) {
        self.host.iter().for_each(|host| host.hear(answer));
    }

    /// Confirms that the last noted answer is a good one.
    pub(super) fn keep_host(&self) {
        self.host.iter().for_each(ProxiedHost::keep);
    }

    /// Leaves a server that does not serve. Returns true if other servers are behind this address; the next call asks
    /// one.
    pub(super) fn leave_host(&self) -> bool {
        self.host.as_ref().is_some_and(ProxiedHost::leave)
    }

    /// Returns true if a substitute without the data was asked; the next call goes to the server that was left.
    pub(super) fn go_back(&self) -> bool {
        self.host.as_ref().is_some_and(ProxiedHost::go_back)
    }

    /// Returns true if the address is a path of this machine.
    pub(super) fn is_unix(&self) -> bool {
        self.text.starts_with("unix:")
    }

    /// Returns an endpoint ready to connect, with TCP_NODELAY.
    ///
    /// # Errors
    /// Returns an error if the text is no address, or if the certificates are invalid.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Error> {
        // The path of a Unix socket has one slash behind the colon.
        let is_uri = self.text.contains("://") || self.is_unix();
        let uri = if is_uri { self.text.clone() } else { format!("http://{}", self.text) };
        let is_tls = uri.starts_with("https://");
        // Poses are small consecutive writes: Nagle's algorithm would hold each for a delayed acknowledgement, 40 ms.
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
