//! Streams under way with a key that is revoked: removed from its file, or changed there.

use std::{path::Path, time::Duration};

use palpate::proto::{
    AddTissueResponse, CreateSceneRequest, DeformResponse, TrackMode, TrackRequest, TrackResponse,
    TrackStart,
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Response, Status, Streaming};

use crate::support::{
    folder::Folder,
    keys::{ADMIN, OTHER, SURGEON, by, key, with_keys},
    messages::{
        SCENE, sparse, start, start_message, tick, tick_message, tissue_upload, tool_head,
        tool_header, tool_piece,
    },
    refusal::assert_refused,
    server::{HandFed, TestServer, link, tissue},
    viewer::{Viewer, all_of},
};

const SOON: Duration = Duration::from_secs(20);

/// A stream of each kind, all with the surgeon's key.
struct UnderWay {
    /// A loop that was answered once and waits for its next tick.
    track: HandFed,
    /// Resume token of `track`.
    token: Vec<u8>,
    /// A loop that has sent nothing.
    silent: HandFed,
    deform: Streaming<DeformResponse>,
    watch: Viewer,
    upload: JoinHandle<Result<Response<AddTissueResponse>, Status>>,
    /// Kept alive, so that the streams do not end by themselves.
    _open: Box<dyn Send>,
}

async fn served(keys: &Path) -> TestServer {
    let mut server = TestServer::configured(with_keys(keys)).await;
    let scene = start(TrackMode::Every).scene_id;
    let creation = CreateSceneRequest { scene_id: scene, durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a full key");
    let liver = tokio_stream::iter(tissue_upload("liver", &tissue()));
    server.scenes.add_tissue(by(SURGEON, liver)).await.expect("tissue 1");
    let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
    server.scenes.add_tool(by(SURGEON, tokio_stream::iter(tool))).await.expect("tool 1");
    server
}

async fn track(server: &mut TestServer, secret: &str) -> Result<HandFed, Status> {
    let (requests, sent) = mpsc::channel(8);
    let answers = server.haptics.track(by(secret, ReceiverStream::new(sent))).await?;
    Ok(HandFed { requests, answers: answers.into_inner() })
}

fn started(resume_token: &[u8]) -> TrackRequest {
    let resume_token = resume_token.to_vec();
    start_message(TrackStart { resume_token, ..start(TrackMode::Every) })
}

async fn begun(server: &mut TestServer, secret: &str) -> (HandFed, Vec<u8>) {
    let mut stream = track(server, secret).await.expect("a stream");
    stream.requests.send(started(&[])).await.expect("room");
    let answer = stream.ask(tick_message(tick(1, 0.105))).await.expect("an answer");
    (stream, answer.session_token)
}

impl UnderWay {
    async fn begin(server: &mut TestServer) -> UnderWay {
        let (track_begun, token) = begun(server, SURGEON).await;
        let silent = track(server, SURGEON).await.expect("a stream");
        let (deforms, sent) = mpsc::channel(2);
        deforms.send(sparse(1, &[0], &[0.1, 0.0, 0.0])).await.expect("room");
        let deform = server.scenes.deform(by(SURGEON, ReceiverStream::new(sent))).await;
        let mut deform = deform.expect("a stream").into_inner();
        deform.message().await.expect("good").expect("an answer");
        let watch = Viewer::open(server, SURGEON, all_of(SCENE)).await.expect("a stream");
        let (chunks, sent) = mpsc::channel(2);
        chunks.send(tissue_upload("spleen", &tissue())[0].clone()).await.expect("room");
        let mut scenes = server.scenes.clone();
        let upload = by(SURGEON, ReceiverStream::new(sent));
        let upload = tokio::spawn(async move { scenes.add_tissue(upload).await });
        let _open = Box::new((deforms, chunks));
        UnderWay { track: track_begun, token, silent, deform, watch, upload, _open }
    }

    async fn assert_ended(mut self, case: &str) {
        let code = Code::Unauthenticated;
        let told = timeout(SOON, self.track.answers.message()).await.expect(case);
        let status = told.clone().expect_err(case);
        assert!(status.message().contains("\"surgeon\""), "{case}: {status:?}");
        assert!(!status.message().contains(SURGEON), "{case}: {status:?}");
        assert_refused(told, code, "", case);
        let told = timeout(SOON, self.silent.answers.message()).await.expect(case);
        assert_refused(told, code, "", &format!("{case}: a silent stream"));
        let told = timeout(SOON, self.deform.message()).await.expect(case);
        assert_refused(told, code, "", &format!("{case}: deformations"));
        // Frames that were made before are read first.
        let told = loop {
            let frame = timeout(SOON, self.watch.frame()).await.expect(case);
            if frame.is_err() {
                break frame;
            }
        };
        assert_refused(told, code, "", &format!("{case}: a live view"));
        let told = timeout(SOON, self.upload).await.expect(case).expect("no panic");
        assert_refused(told.map(drop), code, "", &format!("{case}: an upload"));
    }
}

async fn resumed(
    server: &mut TestServer,
    secret: &str,
    token: &[u8],
) -> Result<Option<TrackResponse>, Status> {
    let mut stream = track(server, secret).await?;
    stream.requests.send(started(token)).await.expect("room");
    stream.requests.send(tick_message(tick(2, 0.105))).await.expect("room");
    stream.answers.message().await
}

#[tokio::test]
async fn what_is_under_way_with_a_key_ends_when_it_is_revoked() {
    let surgeon = || key("surgeon", "full", SURGEON, "");
    let admin = key("admin", "admin", ADMIN, "");
    let cases = [
        ("removed", String::new(), None),
        ("another secret", key("surgeon", "full", OTHER, ""), Some(OTHER)),
        ("another role", key("surgeon", "admin", SURGEON, ""), Some(SURGEON)),
        ("another name", key("nurse", "full", SURGEON, ""), Some(SURGEON)),
    ];
    for (case, after, secret) in cases {
        let folder = Folder::new("revoked");
        let keys = folder.write("keys.toml", &(surgeon() + &admin));
        let mut server = served(&keys).await;
        let under_way = UnderWay::begin(&mut server).await;
        let (mut stays, _) = begun(&mut server, ADMIN).await;
        let token = under_way.token.clone();
        folder.write("keys.toml", &(after + &admin));
        under_way.assert_ended(case).await;
        stays.ask(tick_message(tick(2, 0.105))).await.expect("another key's goes on");
        if let Some(secret) = secret {
            let gone = resumed(&mut server, secret, &token).await;
            assert_refused(gone, Code::NotFound, "session ", case);
        }
        // A key that is put back into the file does not get its sessions back.
        folder.write("keys.toml", &(surgeon() + &admin));
        let back = async {
            loop {
                match resumed(&mut server, SURGEON, &token).await {
                    Err(status) if status.code() == Code::Unauthenticated => {}
                    other => break other,
                }
            }
        };
        let gone = timeout(SOON, back).await.expect("it is read again");
        assert_refused(gone, Code::NotFound, "session ", case);
    }
}

#[tokio::test]
async fn a_key_with_other_quotas_goes_on_until_it_is_revoked() {
    let folder = Folder::new("quotas-change");
    let keys = folder.write("keys.toml", &key("surgeon", "full", SURGEON, ""));
    let mut server = served(&keys).await;
    let under_way = UnderWay::begin(&mut server).await;
    let (mut stays, _) = begun(&mut server, SURGEON).await;
    folder.write("keys.toml", &key("surgeon", "full", SURGEON, "streams = 2"));
    // The new quota is in effect once a further stream is refused.
    let refused = async {
        loop {
            let mut more = track(&mut server, SURGEON).await.expect("a stream");
            more.requests.send(started(&[])).await.expect("room");
            match more.ask(tick_message(tick(1, 0.105))).await {
                Ok(_) => {}
                Err(status) => break assert_eq!(status.code(), Code::ResourceExhausted),
            }
        }
    };
    timeout(SOON, refused).await.expect("it is read again");
    stays.ask(tick_message(tick(2, 0.105))).await.expect("it goes on");
    folder.write("keys.toml", &key("other", "full", OTHER, ""));
    under_way.assert_ended("after another quota").await;
    let told = timeout(SOON, stays.answers.message()).await.expect("ended as well");
    assert_refused(told, Code::Unauthenticated, "", "a stream from before both");
}
