//! Where a server is and how it is reached: TCP, TLS or a Unix socket.

use std::{fmt, fs, io, path::Path, sync::Arc};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Error};

/// `host:port` or `http://host:port`, `https://host:port`, or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    /// PEM; who may vouch for the server.
    ca: Option<Arc<[u8]>>,
}

impl ServerAddress {
    /// Without TLS, unless the text begins with `https`.
    pub fn new(text: &str) -> ServerAddress {
        ServerAddress { text: text.to_owned(), ca: None }
    }

    /// Trusts the certificates in a PEM file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn trusting(self, ca: &Path) -> io::Result<ServerAddress> {
        Ok(ServerAddress { ca: Some(fs::read(ca)?.into()), ..self })
    }

    /// Ready to connect, without waiting to fill segments (TCP_NODELAY).
    ///
    /// # Errors
    /// When the text is no address, or the certificates are none.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Error> {
        let is_uri = self.text.contains("://") || self.text.starts_with("unix:");
        let uri = if is_uri { self.text.clone() } else { format!("http://{}", self.text) };
        let is_tls = uri.starts_with("https://");
        let endpoint = Endpoint::from_shared(uri)?.tcp_nodelay(true);
        if !is_tls {
            return Ok(endpoint);
        }
        let ca = self.ca.iter().map(Certificate::from_pem);
        endpoint.tls_config(ClientTlsConfig::new().ca_certificates(ca))
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
