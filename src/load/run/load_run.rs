//! A run: its server, and its results.

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

/// Connections and streams of a run besides the clients'.
const ROOM_BESIDE: u32 = 16;

/// A plan and the server that it runs against.
pub struct LoadRun {
    /// Clients, rates, tissue and tool.
    pub plan: Plan,
    /// Objective of the run.
    pub objective: Option<Objective>,
    /// Server to run against; `None`: the run starts its own.
    server: Option<ServerAddress>,
    /// Address of the live view on the run's own server, and the folder that it serves.
    live_view: Option<(SocketAddr, Option<PathBuf>)>,
    with_baseline: bool,
    /// File for the recording of the run's own server.
    record: Option<PathBuf>,
}

/// Results of a run.
pub struct RunOutcome {
    /// Measurements of the server.
    pub measured: Measured,
    /// Measurements of the echo, if requested.
    pub echo: Option<Measured>,
    /// Reason for the end of the run.
    pub ending: Ending,
    /// The server's owner and address.
    pub server: String,
}

impl LoadRun {
    /// Builds the run of `palpate demo`.
    ///
    /// # Errors
    /// Returns an error if a mesh file cannot be used, or if the live view has no page.
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

    /// Builds the run of `palpate load`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be used, or if two arguments exclude each other.
    pub fn of_load(args: &LoadArgs) -> Result<LoadRun, LoadError> {
        let (plan, objective) = (args.plan()?, args.slo.clone());
        let server = server_of(args)?;
        let (with_baseline, record) = (args.baseline, args.run.record.clone());
        Ok(LoadRun { plan, objective, server, live_view: None, with_baseline, record })
    }

    /// Executes the run.
    ///
    /// # Errors
    /// Returns an error if a server does not start, refuses or goes away, or if a thread cannot pace.
    pub async fn run(&self, interrupt: &mut Interrupt) -> Result<RunOutcome, LoadError> {
        let recording = self.record.as_deref().map(RunRecording::new).transpose()?;
        let outcome = self.run_recorded(interrupt, recording.as_ref()).await;
        // The recording of a failed run is finished too: it shows the failure.
        recording.map_or(Ok(()), RunRecording::finish)?;
        outcome
    }

    /// Executes the run, recorded; its own server has ended when this returns.
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
        // The server is bound to a name, because it ends when it is dropped: it has to outlive the scene.
        let (_own, address, whose) = match &self.server {
            Some(address) => (None, address.clone(), ""),
            None => {
                let own = ServerProcess::start(&program, &self.server_args(recording))?;
                let address = own.address();
                (Some(own), address, "of its own, at ")
            }
        };
        // The run and its echo use one scene: both follow the same path.
        let stage = Stage::set_up(&self.plan, &address, interrupt).await?;
        if let Some((address, _)) = &self.live_view {
            print(&format!("The live view is at http://{address}/view/ until Ctrl-C.\n"))?;
        }
        let measured = self.measure_all(&stage, &address, recording.is_some(), interrupt).await;
        // The scene closes before an error is returned: a server that goes on must not keep the scene.
        let closed = stage.close().await;
        let (measured, echo, ending) = measured?;
        closed?;
        Ok(RunOutcome { measured, echo, ending, server: format!("{whose}{address}") })
    }

    /// Measures the server, then its echo if that was asked for, and the fidelity of a felt force.
    async fn measure_all(
        &self,
        stage: &Stage,
        address: &ServerAddress,
        is_recorded: bool,
        interrupt: &mut Interrupt,
    ) -> Result<(Measured, Option<Measured>, Ending), LoadError> {
        let engine = (Answerer::Engine, address);
        let (mut measured, mut ending) = measure(stage, &self.plan, engine, interrupt).await?;
        let mut echoed = None;
        if self.with_baseline && ending == Ending::Done {
            // The echo is another process, with answers of the run's mean size: its round trip contains the costs of the
            // transport and the machine, and none of this process.
            let bytes = measured.tally.answer_bytes / measured.tally.answers.max(1);
            let args = ["load", "--echo-server", &bytes.to_string()];
            let echo = ServerProcess::start(&env::current_exe()?, &args)?;
            let answerer = (Answerer::Echo, &echo.address());
            // The echo runs after the run and not during it, when its clients would take cores from the engine.
            echoed = Some(measure(stage, &self.plan, answerer, interrupt).await?.0);
        }
        // A recording is of the run alone.
        if ending == Ending::Done && !is_recorded {
            tokio::select! {
                compared = lock_step::compare(stage, &self.plan, &measured) => {
                    measured.fidelity = compared?;
                }
                () = interrupt.came() => ending = Ending::Interrupted,
            }
        }
        Ok((measured, echoed, ending))
    }
}

impl LoadRun {
    /// Returns the arguments of the run's own server.
    fn server_args(&self, recording: Option<&RunRecording>) -> Vec<String> {
        let mut args = SERVE.map(str::to_owned).to_vec();
        if let Some((address, viewer)) = &self.live_view {
            args.extend(["--metrics".to_owned(), address.to_string()]);
            let viewer = viewer.iter().map(|folder| folder.display().to_string());
            args.extend(viewer.flat_map(|folder| ["--viewer".to_owned(), folder]));
        }
        // Limits stay at least at their defaults. Besides the clients there are the stage, the deformer, the cutter and
        // viewers.
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

/// Returns the server that the arguments name, with the credentials to present.
fn server_of(args: &LoadArgs) -> Result<Option<ServerAddress>, LoadError> {
    let LoadArgs { server, credentials, .. } = args;
    let Some(server) = server else {
        return if credentials.is_empty() { Ok(None) } else { Err(LoadError::NoServer) };
    };
    Ok(Some(credentials.shown_to(ServerAddress::new(server))?))
}
