//! Where a server is and how it is reached: TCP, TLS or a Unix socket.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::Interceptor,
    transport::{Certificate, ClientTlsConfig, Endpoint, Error, Identity},
};

/// `host:port` or `http://host:port`, `https://host:port`, or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    /// PEM; who may vouch for the server.
    ca: Option<Arc<[u8]>>,
    /// PEM; what the server is shown when it asks who calls.
    identity: Option<Arc<Shown>>,
    key: Option<Arc<Bearer>>,
}

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

/// Puts the key of an address, if it has one, on each call.
#[derive(Clone)]
pub(super) struct BringKey(Option<Arc<Bearer>>);

impl Interceptor for BringKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("authorization", key.0.clone());
        }
        Ok(request)
    }
}

impl ServerAddress {
    /// Without TLS, unless the text begins with `https`.
    pub fn new(text: &str) -> ServerAddress {
        ServerAddress { text: text.to_owned(), ca: None, identity: None, key: None }
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

    /// What puts the key on each call.
    pub(super) fn key(&self) -> BringKey {
        BringKey(self.key.clone())
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
