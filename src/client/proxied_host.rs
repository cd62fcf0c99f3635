//! Which of several servers behind one proxy (`deploy/envoy`) calls go to.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tonic::metadata::{Ascii, Binary, MetadataMap, MetadataValue};

/// The header by which such a proxy says which server has answered, and by which it is told where a call has to go.
pub(super) const HOST: &str = "palpate-host";

/// What the header says of a server.
pub(super) type Host = MetadataValue<Ascii>;

/// The server that a client's calls go to: that of its first good answer, or the owner that was named of a scene. While
/// that one does not serve, whoever the proxy chooses.
#[derive(Clone, Debug, Default)]
pub(super) struct ProxiedHost(Arc<Mutex<KnownHost>>);

#[derive(Clone, Debug, Default)]
struct KnownHost {
    /// Somebody has, through a proxy or not.
    has_answered: bool,
    /// Of the newest answer, good or not. `None`: there is no such proxy, as far as is known.
    heard: Option<Host>,
    kept: Option<Host>,
    /// The one that is kept does not serve now.
    is_left: bool,
}

/// It is found out and not part of an address.
impl PartialEq for ProxiedHost {
    fn eq(&self, _: &ProxiedHost) -> bool {
        true
    }
}

impl Eq for ProxiedHost {}

impl ProxiedHost {
    /// What a call brings.
    pub(super) fn header(&self) -> Option<Host> {
        let known = self.0.lock();
        known.kept.clone().filter(|_| !known.is_left)
    }

    /// Notes where an answer comes from that may be a refusal yet.
    pub(super) fn hear(&self, answer: &MetadataMap) {
        let mut known = self.0.lock();
        known.has_answered = true;
        if let Some(host) = answer.get(HOST) {
            known.heard = Some(host.clone());
        }
    }

    /// Whether anybody has answered yet.
    pub(super) fn has_answered(&self) -> bool {
        self.0.lock().has_answered
    }

    /// The answer heard last is a good one: calls go on to where it comes from, unless they have gone elsewhere before.
    pub(super) fn keep(&self) {
        let mut known = self.0.lock();
        if known.heard.is_some() && (known.kept.is_none() || known.is_left) {
            (known.kept, known.is_left) = (known.heard.clone(), false);
        }
    }

    /// A call found nobody: the next one goes to whoever the proxy chooses, and if it was one of those, back to the server
    /// that is kept. False: there is no proxy.
    pub(super) fn leave(&self) -> bool {
        let mut known = self.0.lock();
        let is_proxied = known.heard.is_some();
        known.is_left ^= is_proxied;
        is_proxied
    }

    /// Whoever the proxy chose knows nothing of what was asked, which says nothing where servers share no scenes: back to
    /// the server that is kept. False: that one itself was asked.
    pub(super) fn go_back(&self) -> bool {
        let mut known = self.0.lock();
        std::mem::take(&mut known.is_left) && known.kept.is_some()
    }

    /// What is known so far, for one that finds out more by itself.
    pub(super) fn apart(&self) -> ProxiedHost {
        ProxiedHost(Arc::new(Mutex::new(self.0.lock().clone())))
    }

    /// Behind the same proxy the server that was named as a scene's owner, by host and port. A proxy knows servers by their IP
    /// addresses: of another name any of them is asked. `None`: there is no proxy.
    pub(super) fn of_owner(&self, host_and_port: &str) -> Option<ProxiedHost> {
        let heard = Some(self.0.lock().heard.clone()?);
        let kept = host_and_port.parse().ok().map(header);
        let known = KnownHost { has_answered: true, heard, kept, is_left: false };
        Some(ProxiedHost(Arc::new(Mutex::new(known))))
    }
}

/// As Envoy's stateful session has it (HeaderBasedSessionState): the address in padded base64.
fn header(server: SocketAddr) -> Host {
    let encoded = MetadataValue::<Binary>::from_bytes(server.to_string().as_bytes());
    // gRPC's own is not padded.
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
