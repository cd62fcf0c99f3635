//! The binary as a separate process.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

use super::program::under_test;

/// A server or client process, killed if a test fails before the process ends.
pub struct Process(Child);

impl Process {
    /// Starts `palpate serve --listen ADDR` with more arguments.
    pub fn serve(listen: &str, more: &[&str]) -> Process {
        Process::serve_with(listen, more, &[])
    }

    /// As [`Process::serve`], with environment variables.
    pub fn serve_with(listen: &str, more: &[&str], variables: &[(&str, &str)]) -> Process {
        let mut command = Command::new(under_test());
        command.args(["serve", "--listen", listen]).args(more).env("RUST_LOG", "off");
        // Shared by all tests for its fields; a server that keeps scenes needs a folder of its own.
        command.env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
        command.env("PALPATE_STORE_SCENES", "false");
        command.envs(variables.iter().copied());
        Process::spawn(command)
    }

    /// Starts a server on a free port with its data in `folder`, through a command whose `exec "$0" "$@"` starts it.
    pub fn serve_through(command: &[&str], folder: &Path) -> Process {
        let mut through = Command::new(command[0]);
        through.args(&command[1..]).arg(under_test());
        through.args(["serve", "--listen", "127.0.0.1:0"]);
        through.env("RUST_LOG", "warn").env("PALPATE_DATA_DIR", folder);
        through.env("PALPATE_STORE_SCENES", "false");
        Process::spawn(through)
    }

    /// Starts a server that keeps its scenes in `folder`, with variables, through a command if one is given; on a free
    /// port, unless the variables name an address.
    pub fn serve_keeping(folder: &Path, through: &[&str], variables: &[(&str, &str)]) -> Process {
        let mut command = match through {
            [] => Command::new(under_test()),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(under_test());
                command
            }
        };
        command.arg("serve").env("PALPATE_LISTEN", "127.0.0.1:0");
        command.env("RUST_LOG", "warn").env("PALPATE_LOG_FORMAT", "text");
        command.env("PALPATE_DATA_DIR", folder).envs(variables.iter().copied());
        Process::spawn(command)
    }

    /// Starts the server of any build, on a free port, with variables.
    pub fn serve_of(program: &Path, variables: &[(&str, &str)]) -> Process {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
        command.envs(variables.iter().copied());
        Process::spawn(command)
    }

    /// Starts `palpate load` with its arguments.
    pub fn load(args: &[&str]) -> Process {
        let mut command = Command::new(under_test());
        command.arg("load").args(args);
        Process::spawn(command)
    }

    fn spawn(mut command: Command) -> Process {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-Break must reach the child and not the tests.
        #[cfg(windows)]
        palpate::os::child::set_apart(&mut command);
        Process(command.spawn().expect("it is installed"))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns the first line of the output.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        line
    }

    /// Returns the address in the first line, on which the server listens.
    pub fn address(&mut self) -> SocketAddr {
        let line = self.first_line();
        let address = line.strip_prefix("listening on ").and_then(|a| a.strip_suffix('\n'));
        let address = address.unwrap_or_else(|| panic!("{line:?}"));
        address.parse().expect("an address")
    }

    /// Returns the error output, to its end.
    pub fn errors(&mut self) -> String {
        let mut message = String::new();
        let stderr = self.0.stderr.as_mut().expect("piped");
        stderr.read_to_string(&mut message).expect("UTF-8");
        message
    }

    pub fn signal(&self, name: &str) {
        signal(&self.0, name);
    }

    /// Waits for the process to end.
    pub fn end(mut self) -> ExitStatus {
        self.0.wait().expect("it ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
pub fn signal(to: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &to.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

/// Windows has one signal that can be sent, to a child that was set apart; it stands for TERM and INT.
#[cfg(windows)]
pub fn signal(to: &Child, name: &str) {
    match name {
        "KILL" => {
            let mut kill = Command::new("taskkill");
            kill.args(["/F", "/PID", &to.id().to_string()]).stdout(Stdio::null());
            assert!(kill.status().expect("taskkill").success());
        }
        "TERM" | "INT" => {
            palpate::os::child::ask_to_end(to).expect("it runs in this console");
        }
        _ => panic!("there is no {name}"),
    }
}
