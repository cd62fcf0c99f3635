//! A run's own server: a child process on a free loopback port that does not outlive the run.

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use crate::{client::address::ServerAddress, os::child};

/// Time limit for the server to print its address.
const START_MAX: Duration = Duration::from_secs(10);
/// Time limit for the server to end after a request, before it is killed.
const STOP_MAX: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Arguments of a server on a free loopback port that leaves nothing behind but fields.
pub const SERVE: [&str; 6] =
    ["serve", "--listen", "127.0.0.1:0", "--set", "store.scenes=false", "--until-stdin-closes"];
/// Variables that an image sets for its server. A run has neither keys nor certificates, and a page of its own.
const NOT_INHERITED: [&str; 5] = [
    "PALPATE_ACCESS_CERTIFICATE_FILE",
    "PALPATE_ACCESS_CLIENT_CA_FILE",
    "PALPATE_ACCESS_KEYS_FILE",
    "PALPATE_ACCESS_PRIVATE_KEY_FILE",
    "PALPATE_METRICS_LISTEN",
];
/// First line of a server's stdout, before the address.
const GREETING: &str = "listening on ";

/// The server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerProcessError {
    /// The program cannot be run.
    #[error("cannot start a server: {0}")]
    Spawn(#[from] io::Error),
    /// The program ended, or printed something else.
    #[error("the server did not say where it listens within {START_MAX:?}, got {got:?}")]
    Greeting {
        /// First line that the program printed.
        got: String,
    },
}

/// A running server; stopped when dropped.
pub struct ServerProcess {
    child: Child,
    address: String,
    /// Held open: a server that writes to a closed pipe would end.
    _stdout: Option<ChildStdout>,
}

impl ServerProcess {
    /// Starts `program` as a server with these arguments, in a group of its own, so that a Ctrl-C for this process does
    /// not end it first. Only its warnings are shown, not those of HTTP/2, unless `RUST_LOG` is set.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run, or does not come up.
    pub fn start(
        program: &Path,
        args: &[impl AsRef<OsStr>],
    ) -> Result<ServerProcess, ServerProcessError> {
        // A process and not a thread: its resource use is its own, and a crash is visible as a crash.
        let mut command = Command::new(program);
        command.args(args);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        child::set_apart(&mut command);
        // The pipe closes with this process, however it ends.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if env::var_os("RUST_LOG").is_none() {
            command.env("RUST_LOG", "warn,h2=error");
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().expect("is piped");
        // From here on dropping it stops the child.
        let mut server = ServerProcess { child, address: String::new(), _stdout: None };
        // A thread reads, because reading a pipe has no time limit. When the limit passes the child is stopped, its
        // pipe closes, and the thread ends.
        let (tell, told) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = String::new();
            // A failed read gives an empty line, which is no greeting.
            let _ = reader.read_line(&mut line);
            let _ = tell.send((line, reader.into_inner()));
        });
        let (line, stdout) = told
            .recv_timeout(START_MAX)
            .map_err(|_| ServerProcessError::Greeting { got: String::new() })?;
        let Some(address) = line.trim_end().strip_prefix(GREETING) else {
            return Err(ServerProcessError::Greeting { got: line });
        };
        server.address = address.to_owned();
        server._stdout = Some(stdout);
        Ok(server)
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> ServerAddress {
        ServerAddress::new(&self.address)
    }

    /// Returns the processor time of all its threads so far; `None` where the system does not report it.
    pub fn cpu_time(&self) -> Option<Duration> {
        child::cpu_time(&self.child)
    }

    /// Returns its resident memory, bytes; `None` where the system does not report it.
    pub fn memory(&self) -> Option<u64> {
        child::memory(&self.child)
    }

    /// Returns its peak resident memory, bytes; `None` where the system does not report it.
    pub fn memory_peak(&self) -> Option<u64> {
        child::memory_peak(&self.child)
    }

    /// Returns the exit status, if the server ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        // The server is asked before it is killed, so that it can end its streams in order.
        let asked = child::ask_to_end(&self.child);
        let stop_by = Instant::now() + STOP_MAX;
        while asked.is_ok() && Instant::now() < stop_by {
            if self.ended().is_some() {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
