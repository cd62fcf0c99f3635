//! Arguments of the live view: `palpate demo --watch` and `palpate replay --watch`.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
};

use super::listen_address;

/// Default folders of the built page: the build's output and the installed one.
const VIEWER_DIRS: [&str; 2] = ["clients/web/dist", "/usr/local/share/palpate/viewer"];

/// Arguments of the live view.
#[derive(Clone, Debug, clap::Args)]
pub struct LiveViewArgs {
    /// Show the run in a browser until it is stopped.
    #[arg(long)]
    pub watch: bool,
    /// Folder of the built live view [default: clients/web/dist, /usr/local/share/palpate/viewer].
    #[arg(long, value_name = "DIR", requires = "watch")]
    viewer: Option<PathBuf>,
    /// Address of the live view [default: a free port of this machine].
    #[arg(long, value_name = "ADDR", requires = "watch", value_parser = listen_address::parse)]
    watch_listen: Option<SocketAddr>,
}

/// Error of the live view's arguments.
#[derive(Debug, thiserror::Error)]
pub enum LiveViewError {
    /// `--watch` without a built page.
    #[error(
        "there is no built page of the live view, expected one in clients/web/dist (cd clients/web && npm ci && npm run \
         build) or --viewer DIR"
    )]
    NoViewer,
    /// No port is free.
    #[error("the live view has no port: {0}")]
    NoPort(#[from] io::Error),
}

impl LiveViewArgs {
    /// Returns the address and folder of the page; `None`: no live view.
    ///
    /// # Errors
    /// Returns an error if there is no page or no free port.
    pub fn place(&self) -> Result<Option<(SocketAddr, PathBuf)>, LiveViewError> {
        if !self.watch {
            return Ok(None);
        }
        let usual = VIEWER_DIRS.map(PathBuf::from);
        let built = |folder: &&PathBuf| folder.join("index.html").is_file();
        let viewer = match &self.viewer {
            Some(folder) => folder.clone(),
            None => usual.iter().find(built).ok_or(LiveViewError::NoViewer)?.clone(),
        };
        let address = match self.watch_listen {
            Some(address) => address,
            // This port was free a moment ago; the server takes it at once.
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?,
        };
        Ok(Some((address, viewer)))
    }
}
