//! `palpate load` as a user runs it.

use std::{
    env,
    f64::consts::{PI, TAU},
    fs,
    path::PathBuf,
    process::{self, Command, Output, Stdio},
};

use palpate::{
    client::{Client, address::ServerAddress},
    config::Config,
    service::{Listeners, serve},
};
use serde_json::Value;
use tokio::{io::AsyncReadExt, net::TcpListener};

use crate::seed::figure;
use crate::support::{
    certificates::{Authority, with_tls},
    folder::Folder,
    program::under_test,
    server::{link, tissue},
};

fn load(args: &[&str]) -> Output {
    let mut command = Command::new(under_test());
    command.arg("load").args(args).output().expect("it runs")
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for args in [&["load", "--seconds=1", "--rate=20"][..], &["plan", "--scenes=1", "--loops=1"]] {
        let mut command = Command::new(under_test());
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("it runs");
        drop(running.stdout.take());
        let done = running.wait_with_output().expect("it ends");
        assert!(done.status.success(), "{args:?}: {}", said(&done));
    }
}

fn said(output: &Output) -> String {
    let [out, errors] = [&output.stdout, &output.stderr].map(|o| String::from_utf8_lossy(o));
    format!("{out}{errors}")
}

#[test]
fn all_of_a_run_is_measured_and_written() {
    let folder = env::temp_dir().join(format!("palpate-load-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    let (report, csv, picture) = (file("r.json"), file("r.csv"), file("r.svg"));
    let done = load(&[
        "--seconds=1",
        "--rate=200",
        "--clients=2",
        "--share-connection",
        "--deform-share=0.5",
        // The last of two cuts is made half a second before the end.
        "--cut-hz=2",
        "--baseline",
        "--slo=max=60s,missed=100%",
        "--report",
        &report,
        "--csv",
        &csv,
        "--picture",
        &picture,
    ]);
    let text = said(&done);
    assert!(done.status.success(), "{text}");
    assert!(text.contains("objective met: max "), "{text}");
    assert!(text.contains("round trip / (echo + tick in the engine): p50 "), "{text}");
    let json: Value = serde_json::from_str(&fs::read_to_string(report).expect("written")).unwrap();
    let number = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    assert_eq!(number("/ticks_sent"), 400.0);
    assert_eq!(number("/cuts/done"), 2.0);
    assert!(number("/deformations/acknowledged") > 0.0 && number("/answer_bytes") > 100.0);
    assert!(number("/baseline/rtt_us/p50") > 0.0 && number("/baseline/p50_ratio") > 0.0);
    assert!(number("/outside_us/p50") < number("/rtt_us/max"));
    let rows = fs::read_to_string(csv).expect("written");
    let answered = rows.lines().skip(1).map(|row| row.split(',').nth(1).expect("a column"));
    assert_eq!(answered.map(|n| n.parse::<u64>().expect("a number")).sum::<u64>(), 400);
    let svg = fs::read_to_string(picture).expect("written");
    assert!(svg.contains("echo&apos;s round trip") && svg.trim_end().ends_with("</svg>"));
    fs::remove_dir_all(folder).expect("it was there");
}

/// Returns a closed surface with semi-axes in metres, as OBJ.
fn ellipsoid([a, b, c]: [f64; 3], rings: u32, segments: u32) -> String {
    let mut vertices = vec![[0.0, 0.0, c]];
    for i in 1..rings {
        let (across, along) = (PI * f64::from(i) / f64::from(rings)).sin_cos();
        for j in 0..segments {
            let (y, x) = (TAU * f64::from(j) / f64::from(segments)).sin_cos();
            vertices.push([a * across * x, b * across * y, c * along]);
        }
    }
    vertices.push([0.0, 0.0, -c]);
    let last = vertices.len() as u32;
    // OBJ counts from 1; ring 0 is the first vertex.
    let id = |i: u32, j: u32| 2 + (i - 1) * segments + j % segments;
    let mut faces = Vec::new();
    for j in 0..segments {
        faces.push([1, id(1, j), id(1, j + 1)]);
        for i in 1..rings - 1 {
            faces.push([id(i, j), id(i + 1, j), id(i + 1, j + 1)]);
            faces.push([id(i, j), id(i + 1, j + 1), id(i, j + 1)]);
        }
        faces.push([last, id(rings - 1, j + 1), id(rings - 1, j)]);
    }
    let vertices = vertices.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    vertices.chain(faces.iter().map(|[p, q, r]| format!("f {p} {q} {r}\n"))).collect()
}

/// A simulated hand presses and holds, with answers that are late, uneven and sometimes lost.
#[test]
fn a_simulated_hand_is_held_by_its_servo() {
    let folder = Folder::new("servo");
    let report = folder.0.join("r.json").display().to_string();
    let tissue = folder.write("tissue.obj", &ellipsoid([0.1, 0.07, 0.05], 24, 32));
    let tool = folder.write("tool.obj", &ellipsoid([0.003, 0.003, 0.03], 12, 8));
    let done = load(&[
        "--seconds=3",
        &format!("--tissue={}", tissue.display()),
        &format!("--tool={}", tool.display()),
        "--deform-hz=0",
        "--rate=500",
        "--render",
        "--servo-hz=4000",
        "--device=mass=0.08,damping=0.15,hand=150",
        "--stiffness=800",
        "--delay=20ms",
        "--jitter=5ms",
        "--loss=5%",
        "--report",
        &report,
    ]);
    let text = said(&done);
    assert!(done.status.success(), "{text}");
    let json: Value = serde_json::from_str(&fs::read_to_string(report).expect("written")).unwrap();
    println!("{}", json.pointer("/servo").expect("a servo"));
    let number = |name: &str| {
        let number = json.pointer(&format!("/servo/{name}")).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("{name} in {text}"))
    };
    // The last few samples are left out if the client is done before them.
    assert!(number("samples") > 11_000.0, "{text}");
    assert!(number("force_mean_n") > 0.5 && number("force_n_max") <= 3.3 + 1e-9, "{text}");
    // Steps at 300 N/s.
    assert!(number("force_step_n_max") <= 300.0 / 4000.0 + 1e-9, "{text}");
    assert!(number("model_age_us/p50") >= 20_000.0, "{text}");
    assert!(number("energy_in_j") > 0.0, "{text}");
    // A server's force that is held for so long shakes this hand by 1.5 N RMS; busy cores add far less to a device that
    // they pace.
    let rms_n = number("force_rms_n");
    assert!(rms_n < 0.5, "{rms_n} N RMS: {text}");
    figure("a hand at 800 N/m, 20 ms late", 1e3 * rms_n, 20.0, "mN RMS");
    assert!(text.contains("servo  ") && text.contains("fidelity  "), "{text}");
    let off = json.pointer("/fidelity/rms_n").and_then(Value::as_f64).expect("it was touched");
    figure("off the true force at 800 N/m, 20 ms late", 1e3 * off, 250.0, "mN RMS");
    let samples = json.pointer("/fidelity/samples").and_then(Value::as_u64);
    assert!(off < 1.0 && samples.is_some_and(|n| n > 1_000), "{off} N RMS off: {text}");
    // Expected from the options of this run: 0.15 + 0.8 N s/m over half of a tick of 2 ms and 25 ms of delay, less by
    // the round trip; and over half of a sample of 0.25 ms.
    let stiffness = text.split_once("\n  stiffness  ").unwrap_or_else(|| panic!("{text}")).1;
    let stiffness = stiffness.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "with the server's force at 0.5 kHz (p99 of the round trip and 25 ms of delay), 7600 with a local model at 4 \
         kHz, in a hand of 0.95 N s/m",
        "More: a local model, samples at a higher rate",
    ] {
        assert!(stiffness.contains(part), "{stiffness} lacks {part}");
    }
    let server = json.pointer("/rendering/server_stiffness_max_n_per_m").and_then(Value::as_f64);
    let server = server.expect("answered");
    assert!(server > 0.0 && server < 0.95 / 0.026, "{server} N/m: {text}");
}

#[test]
fn what_a_hand_cannot_be_is_refused() {
    for bad in ["--device=mass=0", "--loss=5", "--delay=20", "--stiffness=0.5"] {
        let done = load(&["--render", "--servo-hz=4000", bad]);
        assert!(!done.status.success() && said(&done).contains("expected"), "{bad}");
    }
    let done = load(&["--servo-hz=4000"]);
    assert!(!done.status.success() && said(&done).contains("--render"), "{}", said(&done));
}

#[test]
fn a_broken_objective_is_an_exit_code() {
    let done = load(&["--seconds=0.5", "--rate=100", "--deform-hz=0", "--slo=p50=0us"]);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(said(&done).ends_with("palpate: the objective p50=0us is not met\n"));
    let done = load(&["--seconds=0.2", "--rate=100", "--slo=p50=0us", "--find-capacity"]);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(said(&done).contains("capacity: 0 clients at 100 Hz"), "{}", said(&done));
    let done = load(&["--deform-share=1", "--cut-hz=1"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("expected one of the two"), "{}", said(&done));
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_an_address() {
    use tokio::net::UnixListener;
    use tokio_stream::wrappers::UnixListenerStream;

    let path = env::temp_dir().join(format!("palpate-load-{}.sock", process::id()));
    let listener = UnixListener::bind(&path).expect("a free path");
    let health = tonic_health::server::HealthReporter::new();
    let health = tonic_health::server::HealthService::from_health_reporter(health);
    let health = tonic_health::pb::health_server::HealthServer::new(health);
    let serving = tonic::transport::Server::builder()
        .add_service(health)
        .serve_with_incoming(UnixListenerStream::new(listener));
    tokio::spawn(serving);
    let server = ServerAddress::new(&format!("unix:{}", path.display()));
    let mut client = Client::connect(&server).await.expect("it listens");
    let refused = client.create_scene("s").await.expect_err("it has no scenes").to_string();
    assert!(refused.starts_with("CreateScene was refused (Unimplemented)"), "{refused}");
    fs::remove_file(path).expect("it was there");
}

#[tokio::test]
async fn tls_is_not_spoken_to_a_server_without_it() {
    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
    let listeners = Listeners::bind(&config).await.expect("a free port");
    let address = listeners.address().expect("bound");
    let serving = async move { serve(listeners, &config, std::future::pending()).await };
    tokio::spawn(serving);
    let https = ServerAddress::new(&format!("https://{address}"));
    let error = Client::connect(&https).await.err().expect("no TLS there").to_string();
    assert!(error.starts_with(&format!("cannot connect to https://{address}: ")), "{error}");
}

#[tokio::test]
async fn a_server_with_tls_is_told_of_to_a_client_without() {
    let folder = Folder::new("load-tls");
    let server = with_tls(&folder, &Authority::new(), None).await;
    let plain = ServerAddress::new(&server.address.to_string());
    let mut client = Client::connect(&plain).await.expect("TCP alone");
    let error = client.create_scene("s").await.expect_err("no frames").to_string();
    assert!(error.ends_with(&format!(" (if it has TLS: https://{})", server.address)), "{error}");
    // A server that hangs up without a word; a server with TLS seems to do so if a call is made after its answer was
    // read.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // A byte of the HTTP/2 preface.
            let _ = stream.read_u8().await;
        }
    });
    let silent = ServerAddress::new(&address.to_string());
    let mut client = Client::connect(&silent).await.expect("TCP alone");
    let error = client.create_scene("s").await.expect_err("it hangs up").to_string();
    assert!(error.ends_with(&format!(" (if it has TLS: https://{address})")), "{error}");
    let empty = folder.write("empty.pem", "no PEM");
    let refused = plain.trusting(&empty).expect_err("no certificate").to_string();
    assert!(refused.contains("no certificate"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_asks_who_calls_is_shown_a_certificate() {
    let folder = Folder::new("load-mtls");
    let (ca, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = with_tls(&folder, &ca, Some(&clients)).await;
    let address = format!("--server=https://{}", server.address);
    let ca = folder.write("ca.pem", &ca.pem());
    let files = |name: &str, of: &Authority| {
        let (certificate, key) = of.sign();
        [
            folder.write(&format!("{name}.pem"), &certificate),
            folder.write(&format!("{name}.key"), &key),
        ]
    };
    // Small meshes: the test is about the connection to the server.
    let [tissue, tool] = [tissue(), link()].map(|m| String::from_utf8(m.obj()).expect("ASCII"));
    let (tissue, tool) = (folder.write("tissue.obj", &tissue), folder.write("tool.obj", &tool));
    let run = |[certificate, key]: [PathBuf; 2]| {
        let mut args = ["--seconds=0.2", "--rate=100", "--deform-hz=0"].map(str::to_owned).to_vec();
        args.push(address.clone());
        args.push(format!("--tissue={}", tissue.display()));
        args.push(format!("--tool={}", tool.display()));
        args.push(format!("--tls-ca={}", ca.display()));
        args.push(format!("--client-certificate={}", certificate.display()));
        args.push(format!("--client-key={}", key.display()));
        let run = move || load(&args.iter().map(String::as_str).collect::<Vec<_>>());
        async { tokio::task::spawn_blocking(run).await.expect("no panic") }
    };
    let done = run(files("client", &clients)).await;
    assert!(done.status.success(), "{}", said(&done));
    let done = run(files("stranger", &strangers)).await;
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let [certificate, key] = files("swapped", &clients);
    let done = run([key, certificate]).await;
    assert!(
        said(&done).contains(&format!("cannot connect to {}", &address[9..])),
        "{}",
        said(&done)
    );
    let done = run([folder.0.join("gone.pem"), folder.0.join("gone.key")]).await;
    assert!(said(&done).contains("gone.pem: No such file"), "{}", said(&done));
    let alone = load(&[&address, "--client-key=client.key"]);
    assert!(said(&alone).contains("--client-certificate"), "{}", said(&alone));
    let nobody = load(&["--key-file=key"]);
    assert_eq!(nobody.status.code(), Some(1), "{}", said(&nobody));
    assert!(said(&nobody).contains("expected --server"), "{}", said(&nobody));
}
