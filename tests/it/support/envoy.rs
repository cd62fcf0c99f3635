//! Envoy with `deploy/envoy/envoy.yaml`, except for addresses and ports.

use std::{
    env,
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tonic::metadata::{Ascii, Binary, MetadataValue};

use super::{certificates::Authority, folder::Folder, server::free_address};

/// The header that `envoy.yaml` names.
pub const HOST: &str = "palpate-host";

/// Envoy in front of servers, ended with the test.
pub struct Envoy {
    /// Address for clients.
    pub front: SocketAddr,
    pub admin: SocketAddr,
    process: Child,
}

impl Drop for Envoy {
    fn drop(&mut self) {
        // An error means that Envoy has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the path of Envoy, as `PALPATE_ENVOY` or the PATH names it.
pub fn program() -> Option<PathBuf> {
    let named = env::var_os("PALPATE_ENVOY").map(PathBuf::from);
    let found = || {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|folder| folder.join("envoy")).find(|file| file.is_file())
    };
    let program = named.or_else(found);
    if program.is_none() {
        println!("left out: Envoy is not installed (PALPATE_ENVOY)");
    }
    program
}

/// Writes the certificates of a server and its authority to a folder; returns the server's variables.
pub fn certified(folder: &Folder, authority: &Authority) -> Vec<(&'static str, String)> {
    // Not for the server's address: a client that accepts the certificate has come through Envoy.
    let (certificate, key) = authority.sign_for(&["localhost", "palpate"]);
    folder.write("ca.pem", &authority.pem());
    let files = [("server.pem", certificate), ("server.key", key)];
    let [certificate, key] = files.map(|(name, text)| folder.write(name, &text));
    let named = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    vec![
        ("PALPATE_ACCESS_CERTIFICATE_FILE", named(certificate)),
        ("PALPATE_ACCESS_PRIVATE_KEY_FILE", named(key)),
        ("PALPATE_TRANSPORT_CONNECTIONS_PER_ADDRESS_MAX", "256".to_owned()),
    ]
}

/// Returns the header's value for a server.
pub fn host(server: SocketAddr) -> MetadataValue<Ascii> {
    let encoded = MetadataValue::<Binary>::from_bytes(server.to_string().as_bytes());
    // Padded base64, unlike gRPC's.
    let mut text = encoded.as_encoded_bytes().to_vec();
    text.resize(text.len().next_multiple_of(4), b'=');
    MetadataValue::try_from(text.as_slice()).expect("ASCII")
}

impl Envoy {
    /// Starts Envoy in front of servers whose certificates are in the folder. The servers may start later.
    pub fn start(program: &Path, folder: &Folder, servers: &[SocketAddr]) -> Envoy {
        let (admin, front) = (free_address(), free_address());
        let settings = settings(folder, [admin.port(), front.port()], servers);
        let file = folder.write("envoy.yaml", &settings);
        let checked = Command::new(program).args(["--mode", "validate", "-c"]).arg(&file).output();
        let checked = checked.expect("it is installed");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let mut command = Command::new(program);
        command
            .args(["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error", "-c"])
            .arg(&file);
        let log = File::create(folder.0.join("envoy.log")).expect("room");
        command.stdout(Stdio::null()).stderr(log);
        Envoy { front, admin, process: command.spawn().expect("it is installed") }
    }
}

/// Returns the settings in `envoy.yaml` with this folder, these ports and these servers.
fn settings(folder: &Folder, ports: [u16; 2], servers: &[SocketAddr]) -> String {
    let file = format!("{}/deploy/envoy/envoy.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(file).expect("a file of the project");
    let replace = |text: String, from: &str, to: &str| {
        assert!(text.contains(from), "envoy.yaml has no {from}");
        text.replace(from, to)
    };
    let address = |host: &str, port: u16| format!("address: {host}, port_value: {port} ");
    let text = replace(text, "/etc/palpate/", &format!("{}/", folder.0.display()));
    let text = replace(text, &address("127.0.0.1", 9901), &address("127.0.0.1", ports[0]));
    let text = replace(text, &address("0.0.0.0", 7447), &address("127.0.0.1", ports[1]));
    // Each server has one line.
    let is_server = |line: &&str| line.contains("10.0.0.1");
    let line = text.lines().find(is_server).expect("envoy.yaml has a server").to_owned();
    let kept = text.lines().filter(|line| !is_server(line)).map(str::to_owned);
    let own = servers.iter().map(|server| {
        replace(line.clone(), &address("10.0.0.11", 7447), &address("127.0.0.1", server.port()))
    });
    // The servers are the last lines.
    kept.chain(own).map(|line| line + "\n").collect()
}
