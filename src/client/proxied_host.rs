//! The choice of a server behind a proxy (`deploy/envoy`) for calls.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tonic::metadata::{Ascii, Binary, MetadataMap, MetadataValue};

/// Header in which such a proxy names the server that answered, and in which a call names the server that it has to
/// reach.
pub(super) const HOST: &str = "palpate-host";

/// Value of the header for a server.
pub(super) type Host = MetadataValue<Ascii>;

/// The server that a client's calls go to: that of its first good answer, or the named owner of a scene. While it does
/// not serve, the proxy chooses a server.
#[derive(Clone, Debug, Default)]
pub(super) struct ProxiedHost(Arc<Mutex<KnownHost>>);

#[derive(Clone, Debug, Default)]
struct KnownHost {
    /// True if any server has answered, through a proxy or not.
    has_answered: bool,
    /// Server of the newest answer, good or not. `None`: no proxy is known.
    heard: Option<Host>,
    kept: Option<Host>,
    /// True while the kept server does not serve.
    is_left: bool,
}

/// The host is discovered at run time and is not part of an address.
impl PartialEq for ProxiedHost {
    fn eq(&self, _: &ProxiedHost) -> bool {
        true
    }
}

impl Eq for ProxiedHost {}

impl ProxiedHost {
    /// Returns the header that a call carries.
    pub(super) fn header(&self) -> Option<Host> {
        let known = self.0.lock();
        known.kept.clone().filter(|_| !known.is_left)
    }

    /// Notes the server of an answer, which may still be a refusal.
    pub(super) fn hear(&self, answer: &MetadataMap) {
        let mut known = self.0.lock();
        known.has_answered = true;
        if let Some(host) = answer.get(HOST) {
            known.heard = Some(host.clone());
        }
    }

    /// Returns true if any server has answered yet.
    pub(super) fn has_answered(&self) -> bool {
        self.0.lock().has_answered
    }

    /// Confirms that the last noted answer is a good one: further calls go to its server, unless another is kept and
    /// not left.
    pub(super) fn keep(&self) {
        let mut known = self.0.lock();
        if known.heard.is_some() && (known.kept.is_none() || known.is_left) {
            (known.kept, known.is_left) = (known.heard.clone(), false);
        }
    }

    /// Notes that a call found no server: the next call goes to a server that the proxy chooses, or, if the failed call
    /// did so already, back to the kept server. Returns false if there is no proxy.
    pub(super) fn leave(&self) -> bool {
        let mut known = self.0.lock();
        let is_proxied = known.heard.is_some();
        known.is_left ^= is_proxied;
        is_proxied
    }

    /// Returns to the kept server, after a server that the proxy chose did not know the scene, which proves nothing if
    /// servers share no scenes. Returns false if the kept server itself was asked.
    pub(super) fn go_back(&self) -> bool {
        let mut known = self.0.lock();
        std::mem::take(&mut known.is_left) && known.kept.is_some()
    }

    /// Returns a copy of the known state that changes independently.
    pub(super) fn apart(&self) -> ProxiedHost {
        ProxiedHost(Arc::new(Mutex::new(self.0.lock().clone())))
    }

    /// Returns the state for a scene's owner, named by host and port, behind this proxy. A proxy knows servers by their
    /// IP addresses: for any other name it chooses a server. `None`: there is no proxy.
    pub(super) fn of_owner(&self, host_and_port: &str) -> Option<ProxiedHost> {
        let heard = Some(self.0.lock().heard.clone()?);
        let kept = host_and_port.parse().ok().map(header);
        let known = KnownHost { has_answered: true, heard, kept, is_left: false };
        Some(ProxiedHost(Arc::new(Mutex::new(known))))
    }
}

/// Encodes an address as Envoy's stateful session does (HeaderBasedSessionState): in padded base64.
fn header(server: SocketAddr) -> Host {
    let encoded = MetadataValue::<Binary>::from_bytes(server.to_string().as_bytes());
    // gRPC's own base64 is not padded.
    let mut text = encoded.as_encoded_bytes().to_vec();
    text.resize(text.len().next_multiple_of(4), b'=');
    MetadataValue::try_from(text.as_slice()).expect("base64 is ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(from: &'static str) -> MetadataMap {
        let mut answer = MetadataMap::new();
        answer.insert(HOST, MetadataValue::from_static(from));
        answer
    }

    #[test]
    fn the_first_good_answer_counts_until_its_server_is_left() {
        let host = ProxiedHost::default();
        assert!(!host.leave() && !host.go_back(), "no proxy");
        assert!(!host.has_answered());
        host.hear(&heard("a"));
        assert!(host.has_answered());
        assert_eq!(host.header(), None, "it may be a refusal");
        host.keep();
        host.hear(&heard("b"));
        host.keep();
        assert_eq!(host.header().expect("kept"), "a");
        assert!(host.leave());
        assert_eq!(host.header(), None, "whoever is chosen");
        assert!(host.go_back());
        assert_eq!(host.header().expect("kept"), "a");
        assert!(!host.go_back(), "it was asked itself");
        host.leave();
        host.hear(&heard("c"));
        host.keep();
        assert_eq!(host.header().expect("kept"), "c");
    }

    #[test]
    fn an_owner_is_named_as_the_proxy_knows_it() {
        let host = ProxiedHost::default();
        assert!(host.of_owner("10.0.0.11:7447").is_none(), "no proxy");
        host.hear(&heard("a"));
        let owner = host.of_owner("10.0.0.11:7447").expect("a proxy");
        assert_eq!(owner.header().expect("kept"), "MTAuMC4wLjExOjc0NDc=");
        let named = host.of_owner("palpate-0.palpate:7447").expect("a proxy");
        assert_eq!(named.header(), None);
    }
}
