//! One run: against which server, and what it has given.

use std::{env, net::SocketAddr, path::PathBuf};

use super::{
    args::{DemoArgs, LoadArgs},
    lock_step,
    objective::Objective,
    plan::Plan,
    run_recording::RunRecording,
    server_process::{SERVE, ServerProcess},
    workers::{Answerer, Ending, measure},
};
use crate::{
    client::address::ServerAddress,
    load::{error::LoadError, report::Measured, stage::Stage},
    os::{interrupt::Interrupt, stdout::print},
};

/// Connections and streams of a run that are no client's.
const ROOM_BESIDE: u32 = 16;

/// What is run against which server.
pub struct LoadRun {
    /// Clients, rates, tissue and tool.
    pub plan: Plan,
    /// What it must reach.
    pub objective: Option<Objective>,
    /// `None`: one of its own.
    server: Option<ServerAddress>,
    /// Where its own server serves the live view, and of which folder.
    live_view: Option<(SocketAddr, PathBuf)>,
    with_baseline: bool,
    /// Where its own server's recording goes.
    record: Option<PathBuf>,
}

/// What a run has given.
pub struct RunOutcome {
    /// With the server's answers.
    pub measured: Measured,
    /// With the echo's, when that was asked for.
    pub echo: Option<Measured>,
    /// How it ended.
    pub ending: Ending,
    /// Whose server, and where.
    pub server: String,
}

impl LoadRun {
    /// As `palpate demo` is told.
    ///
    /// # Errors
    /// When a mesh file cannot be used, or the live view has no page.
    pub fn of_demo(args: &DemoArgs) -> Result<LoadRun, LoadError> {
        Ok(LoadRun {
            live_view: args.live_view()?,
            plan: args.plan()?,
            objective: None,
            server: None,
            with_baseline: false,
            record: args.run.record.clone(),
        })
    }

    /// As `palpate load` is told.
    ///
    /// # Errors
    /// When a file cannot be used, or two arguments exclude each other.
    pub fn of_load(args: &LoadArgs) -> Result<LoadRun, LoadError> {
        let (plan, objective) = (args.plan()?, args.slo.clone());
        let server = server_of(args)?;
        let (with_baseline, record) = (args.baseline, args.run.record.clone());
        Ok(LoadRun { plan, objective, server, live_view: None, with_baseline, record })
    }

    /// Runs it.
    ///
    /// # Errors
    /// When a server does not start, refuses or goes, or when a thread cannot pace.
    pub async fn run(&self, interrupt: &mut Interrupt) -> Result<RunOutcome, LoadError> {
        let recording = self.record.as_deref().map(RunRecording::new).transpose()?;
        let outcome = self.run_recorded(interrupt, recording.as_ref()).await;
        // Also of a run that failed: that is what a recording is for.
        recording.map_or(Ok(()), RunRecording::finish)?;
        outcome
    }

    /// The same, recorded; its own server has ended when this returns.
    async fn run_recorded(
        &self,
        interrupt: &mut Interrupt,
        recording: Option<&RunRecording>,
    ) -> Result<RunOutcome, LoadError> {
        let (organ, instrument) = (&self.plan.organ, &self.plan.instrument);
        for warning in [instrument.odd_size(organ), instrument.open_end()].iter().flatten() {
            eprintln!("palpate: {warning}");
        }
        let program = env::current_exe()?;
        // Bound to a name, because the server ends when it is dropped: it has to outlive the scene.
        let (_own, address, whose) = match &self.server {
            Some(address) => (None, address.clone(), "the server"),
            None => {
                let own = ServerProcess::start(&program, &self.server_args(recording))?;
                let address = own.address();
                (Some(own), address, "a server of its own")
            }
        };
        // One scene for the run and for its echo: both follow the same path.
        let stage = Stage::set_up(&self.plan, &address, interrupt).await?;
        if let Some((address, _)) = &self.live_view {
            print(&format!("The live view is at http://{address}/view/ until Ctrl-C.\n"))?;
        }
        let engine = (Answerer::Engine, &address);
        let mut measured = measure(&stage, &self.plan, engine, interrupt).await;
        let echo = match &measured {
            Ok((measured, Ending::Done)) if self.with_baseline => {
                // In another process, its answers of the run's mean size: it takes what the transport and the machine
                // take of a round trip, and nothing of this process.
                let bytes = measured.tally.answer_bytes / measured.tally.answers.max(1);
                let args = ["load", "--echo-server", &bytes.to_string()];
                let echo = ServerProcess::start(&program, &args)?;
                let answerer = (Answerer::Echo, &echo.address());
                // After the run and not beside it, where its clients would take the cores from those of the engine.
                Some(measure(&stage, &self.plan, answerer, interrupt).await?.0)
            }
            _ => None,
        };
        if let Ok((measured, Ending::Done)) = &mut measured {
            measured.fidelity = tokio::select! {
                compared = lock_step::compare(&stage, &self.plan, measured) => compared?,
                () = interrupt.came() => None,
            };
        }
        // Before the run's own error is returned: a server that goes on must not keep the scene.
        let closed = stage.close().await;
        let (measured, ending) = measured?;
        closed?;
        Ok(RunOutcome { measured, echo, ending, server: format!("{whose} at {address}") })
    }
}

impl LoadRun {
    /// Of a server of its own.
    fn server_args(&self, recording: Option<&RunRecording>) -> Vec<String> {
        let mut args = SERVE.map(str::to_owned).to_vec();
        if let Some((address, viewer)) = &self.live_view {
            args.extend(["--metrics".to_owned(), address.to_string()]);
            args.extend(["--viewer".to_owned(), viewer.display().to_string()]);
        }
        // Not less than by default. Besides the clients there are the stage, what deforms and cuts, and viewers.
        let n_clients = self.plan.n_clients + ROOM_BESIDE;
        for (limit, usual) in
            [("connections_per_address_max", 128), ("streams_per_connection_max", 64)]
        {
            let set = format!("transport.{limit}={}", n_clients.max(usual));
            args.extend(["--set".to_owned(), set]);
        }
        if let Some(recording) = recording {
            args.extend(["--record".to_owned(), recording.folder().display().to_string()]);
        }
        args
    }
}

/// The server that the arguments name, with what it is to be shown.
fn server_of(args: &LoadArgs) -> Result<Option<ServerAddress>, LoadError> {
    let LoadArgs { server, credentials, .. } = args;
    let Some(server) = server else {
        return if credentials.is_empty() { Ok(None) } else { Err(LoadError::NoServer) };
    };
    Ok(Some(credentials.shown_to(ServerAddress::new(server))?))
}
