//! Where a run is watched: of `palpate demo --watch` and `palpate replay --watch`.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
};

use super::listen_address;

/// Where the built page is looked for: where it is built, and where it is installed.
const VIEWER_DIRS: [&str; 2] = ["clients/web/dist", "/usr/local/share/palpate/viewer"];

/// The arguments that a run is watched with.
#[derive(Clone, Debug, clap::Args)]
pub struct LiveViewArgs {
    /// Show it in a browser until it is stopped.
    #[arg(long)]
    pub watch: bool,
    /// The built page of the live view [default: clients/web/dist, /usr/local/share/palpate/viewer].
    #[arg(long, value_name = "DIR", requires = "watch")]
    viewer: Option<PathBuf>,
    /// Where the page is served [default: a free port of this machine].
    #[arg(long, value_name = "ADDR", requires = "watch", value_parser = listen_address::parse)]
    watch_listen: Option<SocketAddr>,
}

/// Why a run cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum LiveViewError {
    /// `--watch` without a page.
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
    /// Where the page is served, and from which folder; `None`: nowhere.
    ///
    /// # Errors
    /// When there is no page, or no free port.
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
            // Free a moment ago: the server is told to take it at once.
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?,
        };
        Ok(Some((address, viewer)))
    }
}
