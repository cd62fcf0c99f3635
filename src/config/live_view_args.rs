//! Arguments of the live view: `palpate demo --watch` and `palpate replay --watch`.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
};

use super::listen_address;

/// Folder of the built page in the source tree, for a program that was built before the page.
const BUILT_PAGE: &str = "clients/web/dist";

/// Arguments of the live view.
#[derive(Clone, Debug, clap::Args)]
pub struct LiveViewArgs {
    /// Show the run in a browser until it is stopped.
    #[arg(long)]
    pub watch: bool,
    /// Folder of the built live view [default: the page in this program, else clients/web/dist].
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
        "this program was built without the page of the live view, expected a built page in clients/web/dist (cd \
         clients/web && npm ci && npm run build) or --viewer DIR"
    )]
    NoViewer,
    /// No port is free.
    #[error("the live view has no port: {0}")]
    NoPort(#[from] io::Error),
}

impl LiveViewArgs {
    /// Returns the address of the page and its folder, which is `None` for the page in this program; `None`: no live
    /// view.
    ///
    /// # Errors
    /// Returns an error if there is no page or no free port.
    pub fn place(&self) -> Result<Option<(SocketAddr, Option<PathBuf>)>, LiveViewError> {
        if !self.watch {
            return Ok(None);
        }
        let viewer = match &self.viewer {
            Some(folder) => Some(folder.clone()),
            None if cfg!(has_page) => None,
            None if Path::new(BUILT_PAGE).join("index.html").is_file() => Some(BUILT_PAGE.into()),
            None => return Err(LiveViewError::NoViewer),
        };
        let address = match self.watch_listen {
            Some(address) => address,
            // This port was free a moment ago; the server takes it at once.
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?,
        };
        Ok(Some((address, viewer)))
    }
}
