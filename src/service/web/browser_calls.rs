//! Calls of browsers, grpc-web over HTTP/1.1: checks of their origin and size.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, HOST, ORIGIN, VARY,
    },
};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;
use tonic::{Status, body::Body};
use tower::{Service, util::BoxCloneSyncService};

use super::connection_use::KeepsPlace;

/// Services that browsers may call.
pub type BrowserServices = BoxCloneSyncService<Request<Full<Bytes>>, Response<Body>, Infallible>;

/// Prefix of every method's name.
pub const PATH: &str = "/palpate.v1.WatchService/";
/// Method of a live view.
const WATCH: &str = "Watch";
/// Maximum bytes of a request.
const BYTES_MAX: usize = 4 << 10;
/// Maximum time until a request has arrived completely.
const BODY_MAX: Duration = Duration::from_secs(10);

/// Services and their access checks.
#[derive(Clone)]
pub struct BrowserCalls {
    /// Services, behind the access rules.
    pub services: BrowserServices,
    /// True if the server has keys.
    pub has_keys: bool,
    /// True if a server without keys may be called from other machines.
    pub is_insecure: bool,
    /// Address of the port.
    pub address: SocketAddr,
    /// Another origin whose pages may call too.
    pub cors_origin: Option<HeaderValue>,
}

impl BrowserCalls {
    /// Answers a call, or refuses it with the reason.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let origin = request.headers().get(ORIGIN).cloned();
        let is_foreign = origin.is_some() && origin == self.cors_origin;
        let mut answer = match self.check(request.headers()) {
            Err(problem) => text(StatusCode::FORBIDDEN, problem),
            Ok(()) if request.method() == Method::OPTIONS => text(StatusCode::NO_CONTENT, ""),
            Ok(()) if request.method() != Method::POST => {
                text(StatusCode::METHOD_NOT_ALLOWED, "only POST\n")
            }
            Ok(()) => self.call(request).await,
        };
        if let Some(origin) = origin.filter(|_| is_foreign) {
            let headers = answer.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(VARY, HeaderValue::from_static("origin"));
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
            let allowed = "authorization, content-type, x-grpc-web";
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
            let told = "grpc-status, grpc-message";
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(told));
        }
        answer
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.has_keys && !self.is_insecure {
            if !self.address.ip().is_loopback() {
                return Err(
                    "without keys (access.keys_file) the live view is served on a loopback \
                     address only\n",
                );
            }
            // A foreign page can let a name of its own resolve to this address, and would then read answers as a page
            // of this server.
            if !is_local(host) {
                return Err(
                    "without keys the live view is called by an IP address or as localhost\n",
                );
            }
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let is_own = own.is_some_and(|(_, authority)| authority == host);
        let is_known = is_own || Some(origin) == self.cors_origin.as_ref();
        is_known.then_some(()).ok_or("this page's origin is not allowed (metrics.cors_origin)\n")
    }

    async fn call(&self, request: Request<Incoming>) -> Response<Body> {
        let is_watch = request.uri().path().strip_prefix(PATH) == Some(WATCH);
        let request = match whole_request(request).await {
            Ok(request) => request,
            Err(refusal) => return refusal,
        };
        let mut answer = match self.services.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        // A refusal consists of its head only, which has the status.
        if is_watch && !answer.headers().contains_key(Status::GRPC_STATUS) {
            answer.extensions_mut().insert(KeepsPlace);
        }
        answer
    }
}

/// Reads a request with its body.
///
/// # Errors
/// The answer to a request whose body is too large or does not arrive.
pub async fn whole_request(
    request: Request<Incoming>,
) -> Result<Request<Full<Bytes>>, Response<Body>> {
    let (head, body) = request.into_parts();
    match timeout(BODY_MAX, Limited::new(body, BYTES_MAX).collect()).await {
        Ok(Ok(body)) => Ok(Request::from_parts(head, Full::from(body.to_bytes()))),
        Ok(Err(_)) => Err(text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large\n")),
        Err(_) => Err(text(StatusCode::REQUEST_TIMEOUT, "the request did not come\n")),
    }
}

/// Returns true for an IP address or localhost, with or without a port.
fn is_local(host: &str) -> bool {
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    [host, without_port].iter().any(|name| {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        *name == "localhost" || bare.parse::<IpAddr>().is_ok()
    })
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let answer =
        Response::builder().status(status).header(CONTENT_TYPE, "text/plain; charset=utf-8");
    answer.body(Body::new(Full::from(text))).expect("a good head")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_not_local() {
        for host in ["127.0.0.1:9464", "localhost", "localhost:1", "[::1]:9464", "::1", "10.0.0.2"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
