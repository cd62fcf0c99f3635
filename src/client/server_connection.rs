//! A connection to one server.

use tonic::{Response, Status, service::interceptor::InterceptedService, transport::Channel};

use super::{
    address::{BringKey, ServerAddress},
    error::{ClientError, innermost},
};
use crate::proto::{
    haptic_service_client::HapticServiceClient, scene_service_client::SceneServiceClient,
    watch_service_client::WatchServiceClient,
};

type WithKey = InterceptedService<Channel, BringKey>;

/// Clients of all services over one connection.
#[derive(Clone)]
pub(super) struct ServerConnection {
    pub(super) server: ServerAddress,
    pub(super) scenes: SceneServiceClient<WithKey>,
    pub(super) haptics: HapticServiceClient<WithKey>,
    pub(super) watches: WatchServiceClient<WithKey>,
}

impl ServerConnection {
    pub(super) async fn open(server: &ServerAddress) -> Result<ServerConnection, ClientError> {
        let failed = |e: tonic::transport::Error| ClientError::Connect {
            server: server.to_string(),
            reason: innermost(&e),
        };
        // The connection is not lazy: an address without a server fails here and not at the first call.
        let endpoint = server.endpoint().map_err(failed)?;
        // Without this check port 80 or 443 would be asked, also if the port is invalid, such as 99999.
        if !server.is_unix() && endpoint.uri().port_u16().is_none() {
            let reason = "the address has no port, expected host:port".to_owned();
            return Err(ClientError::Connect { server: server.to_string(), reason });
        }
        let channel = endpoint.connect().await.map_err(failed)?;
        let server = server.of_one_client();
        Ok(ServerConnection {
            // All services use one connection: a clone of a channel is a handle to it.
            scenes: SceneServiceClient::with_interceptor(channel.clone(), server.key()),
            haptics: HapticServiceClient::with_interceptor(channel.clone(), server.key()),
            watches: WatchServiceClient::with_interceptor(channel, server.key()),
            server,
        })
    }

    pub(super) fn take<A>(
        &self,
        call: &'static str,
        answer: Result<Response<A>, Status>,
    ) -> Result<A, ClientError> {
        let answer = self.opened(call, answer)?;
        self.server.keep_host();
        Ok(answer)
    }

    /// Takes the answer of an opened stream, without confirming its server as [`ServerConnection::take`] does: the
    /// stream may be refused after its headers came.
    pub(super) fn opened<A>(
        &self,
        call: &'static str,
        answer: Result<Response<A>, Status>,
    ) -> Result<A, ClientError> {
        let answer = answer.map_err(|status| ClientError::of(&self.server, call, &status))?;
        self.server.hear_host(answer.metadata());
        Ok(answer.into_inner())
    }
}
