//! Status codes of failures on the caller's side: bytes that are no message, deadlines, a server that ends.

use std::time::{Duration, Instant};

use palpate::{
    config::Config,
    proto::{
        CreateSceneRequest, DeformResponse, EditTopologyRequest, GetSceneRequest,
        ListScenesRequest, TrackMode, scene_service_client::SceneServiceClient,
    },
    service::{Listeners, serve},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Request, Status,
    client::Grpc,
    codec::{Codec, EncodeBuf, Encoder},
    transport::Channel,
};
use tonic_prost::ProstCodec;

use crate::support::{
    meshes::wire,
    messages::{SCENE, large_tissue, sparse, start, start_message, tissue_upload},
    metrics::{get, value},
    refusal::assert_refused,
    server::{TestServer, free_address, tissue},
    untimed::untimed,
};

const SOON: Duration = Duration::from_secs(20);

/// Sends the given bytes unchanged.
#[derive(Default)]
struct RawCodec;

struct RawEncoder;

impl Encoder for RawEncoder {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, bytes: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(into, &bytes);
        Ok(())
    }
}

impl Codec for RawCodec {
    type Encode = Vec<u8>;
    type Decode = ListScenesRequest;
    type Encoder = RawEncoder;
    type Decoder = <ProstCodec<ListScenesRequest, ListScenesRequest> as Codec>::Decoder;

    fn encoder(&mut self) -> RawEncoder {
        RawEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<ListScenesRequest, ListScenesRequest>::default().decoder()
    }
}

/// Sends one message of these bytes, and returns the outcome.
async fn sent_raw(channel: &Channel, method: &str, bytes: Vec<u8>) -> Result<(), Status> {
    let mut client = Grpc::new(channel.clone());
    client.ready().await.expect("connected");
    let path = format!("/palpate.v1.{method}").parse().expect("a path");
    let sent = Request::new(tokio_stream::once(bytes));
    let mut answers = client.streaming(sent, path, RawCodec).await?.into_inner();
    while answers.message().await?.is_some() {}
    Ok(())
}

/// A varint of ten bytes that does not end: no protobuf message begins so.
const NO_MESSAGE: [u8; 11] = [0xff; 11];

#[tokio::test]
async fn bytes_that_are_no_message_are_the_callers_fault() {
    let address = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(address);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    let methods = [
        ("SceneService/GetScene", 2 << 20),
        ("SceneService/EditTopology", 2 << 20),
        ("SceneService/AddTissue", 2 << 20),
        ("SceneService/Deform", 2 << 20),
        ("HapticService/Track", 65_537),
        ("HapticService/QueryDistances", 3 << 20),
    ];
    for (method, too_large) in methods {
        let refused = sent_raw(&server.channel, method, NO_MESSAGE.to_vec()).await;
        assert_refused(refused, Code::InvalidArgument, "", method);
        let refused = sent_raw(&server.channel, method, vec![0; too_large]).await;
        assert_refused(refused, Code::ResourceExhausted, "message_bytes", method);
    }
    let (_, text) = get(address, "/metrics").await;
    for (method, _) in methods {
        // Streams are counted when they begin.
        let series = format!("palpate_calls_total{{method=\"{method}\",code=\"INTERNAL\"}}");
        assert!(!text.contains(&series), "it would raise an alert: {text}");
    }
    let counted = "palpate_calls_total{method=\"SceneService/GetScene\",code=\"INVALID_ARGUMENT\"}";
    assert_eq!(value(&text, counted), 1.0);
}

async fn tissues(server: &mut TestServer) -> Vec<String> {
    let request = GetSceneRequest { scene_id: SCENE.to_owned() };
    let scene = server.scenes.get_scene(request).await.expect("there").into_inner().scene;
    scene.expect("described").tissues.into_iter().map(|tissue| tissue.name).collect()
}

/// Deadlines from none to ample, so that some calls end in the middle: each is reported as late, or done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_by_its_deadline_was_not_done() {
    let mut server = TestServer::with_scene().await;
    // Enough bands and segments that its indexing takes a while.
    let mesh = wire(&palpate::oracle::shapes::sphere(0.1, 60));
    let upload = |name: &str| large_tissue(SCENE, name, &mesh);
    // The server alone decides: this client has no timer of its own.
    let mut untimed = untimed(server.address).await;
    let begun = Instant::now();
    untimed.add_tissue(tokio_stream::iter(upload("whole"))).await.expect("good");
    let whole = begun.elapsed();
    let mut done = vec!["whole".to_owned()];
    let (steps, mut ended) = (24, 0);
    // An ample deadline may fall short once other tests occupy the cores, so further attempts follow.
    for step in 0..20 * steps {
        if step >= steps && done.len() > 1 {
            break;
        }
        let name = format!("tissue-{step}");
        let mut request = Request::new(tokio_stream::iter(upload(&name)));
        request.set_timeout(whole * step / (steps / 3) + Duration::from_micros(1));
        match untimed.add_tissue(request).await {
            Ok(_) => done.push(name),
            Err(status) => {
                assert_refused(Err::<(), _>(status), Code::DeadlineExceeded, "", &name);
                ended += 1;
            }
        }
    }
    // Any work that continued after its answer has had time to end.
    tokio::time::sleep(whole).await;
    assert_eq!(tissues(&mut server).await, done);
    println!("of {steps} uploads with deadlines up to 3 x {whole:?} {ended} were ended");
    assert!(ended > 0 && done.len() > 1, "{ended} ended, {} done", done.len());
    // A client that gave up by its own clock cannot know the outcome. The name identifies the upload: sent again, it is
    // added, or refused because it was added before.
    for step in 0..8 {
        let name = format!("again-{step}");
        let mut request = Request::new(tokio_stream::iter(upload(&name)));
        request.set_timeout(whole * step / 8 + Duration::from_micros(1));
        let given_up = server.scenes.add_tissue(request).await.is_err();
        let again = server.add_tissue(upload(&name)).await;
        match again {
            Ok(_) => assert!(given_up, "{name} was there"),
            Err(refused) => assert_eq!(refused.code(), Code::AlreadyExists, "{refused:?}"),
        }
        done.push(name);
    }
    assert_eq!(tissues(&mut server).await, done);
}

/// Returns the server's status of a call that is late from the start. If the client's own clock ends the call first,
/// calls again.
async fn told_by_the_server<T>(
    mut call: impl AsyncFnMut() -> Result<T, Status>,
) -> Result<T, Status> {
    for _ in 0..1_000 {
        match call().await {
            Err(own) if own.code() == Code::Cancelled && own.message() == "Timeout expired" => {}
            told => return told,
        }
    }
    panic!("the client's clock was first a thousand times");
}

#[tokio::test]
async fn a_deadline_holds_for_cuts_and_streams_too() {
    let mut server = TestServer::furnished().await;
    let before = server.seen().await;
    let edit = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![0],
        ..Default::default()
    };
    let ended = told_by_the_server(async || {
        let mut cut = Request::new(edit.clone());
        cut.set_timeout(Duration::ZERO);
        server.scenes.edit_topology(cut).await
    });
    assert_refused(ended.await, Code::DeadlineExceeded, "", "a cut");
    let ended = told_by_the_server(async || {
        let mut creation =
            Request::new(CreateSceneRequest { scene_id: "late".to_owned(), durable: None });
        creation.set_timeout(Duration::ZERO);
        server.scenes.create_scene(creation).await
    });
    assert_refused(ended.await, Code::DeadlineExceeded, "", "a scene");
    assert_eq!(server.seen().await, before);

    // A stream's deadline covers the whole stream, and earlier answers stay valid.
    let (requests, sent) = mpsc::channel(4);
    requests.send(sparse(1, &[0], &[0.1, 0.0, 0.0])).await.expect("room");
    let mut deform = Request::new(ReceiverStream::new(sent));
    deform.set_timeout(Duration::from_millis(300));
    let mut answers = server.scenes.deform(deform).await.expect("a stream").into_inner();
    let first: DeformResponse = answers.message().await.expect("in time").expect("an answer");
    assert_eq!(first.geometry_revision, 1);
    let ended = timeout(SOON, answers.message()).await.expect("soon");
    assert_refused(ended, Code::DeadlineExceeded, "", "deformations");
    let (ticks, sent) = mpsc::channel(4);
    ticks.send(start_message(start(TrackMode::Latest))).await.expect("room");
    let mut track = Request::new(ReceiverStream::new(sent));
    track.set_timeout(Duration::from_millis(100));
    let mut answers = server.haptics.track(track).await.expect("a stream").into_inner();
    let ended = timeout(SOON, answers.message()).await.expect("soon");
    assert_refused(ended, Code::DeadlineExceeded, "", "a loop");
    assert_eq!(server.seen().await.scene.tissues[0].geometry_revision, 1);
}

#[tokio::test]
async fn an_upload_that_pauses_is_told_that_the_server_ends() {
    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
    let listeners = Listeners::bind(&config).await.expect("a free port");
    let address = listeners.address().expect("bound");
    let (tell, told) = oneshot::channel();
    let served = tokio::spawn(async move {
        serve(listeners, &config, async { told.await.expect("the test goes on") }).await
    });
    let mut server = TestServer::connect(address).await;
    server.create(SCENE).await.expect("a new scene");
    let (requests, sent) = mpsc::channel(2);
    requests.send(tissue_upload("liver", &tissue())[0].clone()).await.expect("room");
    let mut scenes: SceneServiceClient<Channel> = server.scenes.clone();
    let upload = tokio::spawn(async move { scenes.add_tissue(ReceiverStream::new(sent)).await });
    // The upload has begun once a later call was answered on its connection.
    server.seen().await;
    tell.send(()).expect("it serves");
    let ended = timeout(SOON, upload).await.expect("soon").expect("no panic");
    assert_refused(ended.map(drop), Code::Unavailable, "", "half an upload");
    drop((requests, server));
    timeout(SOON, served).await.expect("soon").expect("no panic").expect("a good end");
}

#[tokio::test]
async fn numbers_in_refusals_are_short() {
    let mut server = TestServer::furnished().await;
    let mut refused = server.deform(vec![sparse(1, &[0], &[0.0, 20_000.1, 0.0])]).await;
    let status = refused.remove(0).expect_err("far");
    assert_eq!(
        status.message(),
        "sparse.positions_m[1] is 20000.1, expected a finite coordinate within 10000 m"
    );
    let request = palpate::proto::QueryDistancesRequest {
        scene_id: SCENE.to_owned(),
        target: Some(palpate::proto::query_distances_request::Target::AllTissues(true)),
        points_xyz_m: vec![0.0, 0.0, f64::from(-123_456.78_f32)],
        ..Default::default()
    };
    let status = server.haptics.query_distances(request).await.expect_err("far");
    assert_eq!(
        status.message(),
        "points_xyz_m[2] is -123457, expected a number from -10000 to 10000"
    );
}
