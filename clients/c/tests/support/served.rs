//! A server process for one test.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    ptr,
};

use palpate_c::{plain::palpate_address, server::*, version::VERSION};

use super::held::{ok, text};

/// A server of one test, killed at the end.
pub struct Served {
    pub process: Child,
    pub address: String,
}

/// Returns the server program; `None`: it was not built.
pub fn program() -> Option<PathBuf> {
    let built = std::env::current_exe().expect("it runs");
    let beside = built.parent().and_then(|p| p.parent()).expect("a folder").join("palpate");
    let program = std::env::var_os("PALPATE_SERVER_BIN").map_or(beside, PathBuf::from);
    if !program.exists() {
        println!("not run: {} is not built (PALPATE_SERVER_BIN)", program.display());
        return None;
    }
    Some(program)
}

impl Served {
    /// Starts a server with these variables; `None`: no program was built.
    pub fn start(variables: &[(&str, &str)]) -> Option<Served> {
        let mut command = Command::new(program()?);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
        command.envs(variables.iter().copied());
        let mut process = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        let stdout = process.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Some(Served { process, address })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Connects to a server, or to the first of several that answers.
pub fn connect(addresses: &str) -> *mut palpate_server {
    let url = text(addresses);
    let address = palpate_address { url: url.as_ptr(), ..Default::default() };
    let mut server = ptr::null_mut();
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_connect(VERSION, &address, &mut server) });
    server
}
