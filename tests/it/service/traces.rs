//! Spans that reach a collector.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::any_value::Value,
    trace::v1::Span,
};
use palpate::proto::TrackMode;
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use crate::support::{
    messages::{SCENE, sparse, start, start_message, tick, tick_message},
    process::Process,
    server::{TestServer, free_address},
};

/// Forwards the requests that it receives.
struct Collector(UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).expect("the test takes them");
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn collector() -> (String, UnboundedReceiver<ExportTraceServiceRequest>) {
    let (told, tells) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("log.otlp_endpoint=http://{}", listener.local_addr().expect("bound"));
    let collector = Server::builder().add_service(TraceServiceServer::new(Collector(told)));
    tokio::spawn(collector.serve_with_incoming(TcpListenerStream::new(listener)));
    (endpoint, tells)
}

/// Runs a server that answers a few calls and ends.
async fn served(endpoint: &str) {
    let log = [("RUST_LOG", "info")];
    let mut process = Process::serve_with("127.0.0.1:0", &["--set", endpoint], &log);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let first = [start_message(start(TrackMode::Every))].into_iter();
    let ticks = (0..50).map(|sequence| tick_message(tick(sequence, 0.105)));
    assert_eq!(server.track(first.chain(ticks).collect()).await.len(), 50);
    let deforms = (0..50).map(|sequence| sparse(sequence, &[0], &[0.1, 0.0, 0.0]));
    assert_eq!(server.deform(deforms.collect()).await.len(), 50);
    server.create(SCENE).await.expect_err("it is there");
    drop(server);
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
    assert_eq!(ended.code(), Some(0));
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|field| field.key == key)?.value.clone()?;
    match value.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_is_told_of_each_call_and_of_no_tick() {
    let (endpoint, mut told) = collector().await;
    served(&endpoint).await;
    let mut calls = BTreeMap::<_, u64>::new();
    while let Ok(request) = told.try_recv() {
        let of_service = request.resource_spans.into_iter().flat_map(|r| r.scope_spans);
        for span in of_service.flat_map(|scope| scope.spans) {
            assert_eq!(attribute(&span, "scene").as_deref(), Some(SCENE), "{span:?}");
            assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
            let is_loop = span.name == "HapticService/Track";
            let expected = is_loop.then_some("0");
            assert_eq!(attribute(&span, "rendered").as_deref(), expected, "{span:?}");
            let code = attribute(&span, "code").expect("it has ended");
            *calls.entry((span.name, code)).or_default() += 1;
        }
    }
    let expected = [
        ("HapticService/Track", "OK"),
        ("SceneService/AddTissue", "OK"),
        ("SceneService/AddTool", "OK"),
        ("SceneService/CreateScene", "ALREADY_EXISTS"),
        ("SceneService/CreateScene", "OK"),
        ("SceneService/Deform", "OK"),
    ];
    let expected = expected.map(|(name, code)| ((name.to_owned(), code.to_owned()), 1));
    assert_eq!(calls, BTreeMap::from(expected));
}

/// The server starts, answers and ends as without a collector.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_not_there_is_not_missed() {
    served(&format!("log.otlp_endpoint=http://{}", free_address())).await;
}
