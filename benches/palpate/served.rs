//! A server in a process of its own and haptic clients in this one, for the measures over gRPC.
//!
//! Rounds alternate between two servers or two scenes; times count from the instant at which a tick was due.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use palpate::{
    client::address::ServerAddress,
    geometry::{MeshData, TriangleMesh},
    load::{
        report::Measured,
        run::{
            plan::Plan,
            server_process::{SERVE, ServerProcess},
            workers::{Answerer, measure},
        },
        stage::{
            Stage,
            phantom::{Instrument, PhantomTissue},
        },
    },
    oracle::shapes,
    os::interrupt::Interrupt,
};

use crate::{inputs, served_check::check, turns::Effort};

/// Ticks later than this are missed.
pub const DEADLINE: Duration = Duration::from_millis(1);

/// A server, a scene on it, and the runtime of the connection that made the scene.
pub struct Served {
    runtime: tokio::runtime::Runtime,
    interrupt: Interrupt,
    pub server: ServerProcess,
    socket: PathBuf,
}

/// Results of one side over all rounds.
pub struct Side {
    pub all: Measured,
    /// Median round trip of each round, microseconds.
    p50s: Vec<f64>,
    /// Processor time of the server.
    pub cpu: Duration,
}

impl Served {
    pub fn start() -> Served {
        Served::with(&[])
    }

    /// Starts a server with additional arguments.
    pub fn with(more: &[&str]) -> Served {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let interrupt = runtime.block_on(async { Interrupt::catch() }).expect("signals");
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = format!("palpate-bench-{}-{number}.sock", process::id());
        let socket = env::temp_dir().join(socket);
        let path = socket.to_str().expect("a plain path");
        let arguments = [&SERVE[..], &["--unix-socket", path], more].concat();
        Served { runtime, interrupt, server: start(&arguments), socket }
    }

    /// Returns the address of the server's Unix socket.
    pub fn unix_address(&self) -> ServerAddress {
        ServerAddress::new(&format!("unix:{}", self.socket.display()))
    }

    /// Compares answers with the engine's in this process, and returns a sum over them.
    pub fn check(&mut self, plan: &Plan, tool: &MeshData) -> f64 {
        self.check_at(&self.server.address(), plan, tool)
    }

    /// As [`Served::check`], at one of the server's addresses, or with a key.
    pub fn check_at(&self, address: &ServerAddress, plan: &Plan, tool: &MeshData) -> f64 {
        self.runtime.block_on(check(address, plan, tool))
    }

    pub fn set_up(&mut self, plan: &Plan) -> Stage {
        let address = self.server.address();
        self.set_up_at(&address, plan)
    }

    /// As [`Served::set_up`], at one of the server's addresses, or with a key.
    pub fn set_up_at(&mut self, address: &ServerAddress, plan: &Plan) -> Stage {
        let session = Stage::set_up(plan, address, &mut self.interrupt);
        self.runtime.block_on(session).expect("a scene")
    }

    /// Runs one round over TCP, answered by the engine or by an echo.
    pub fn round(
        &mut self,
        session: (&Stage, &Plan),
        echo: Option<&ServerProcess>,
        side: &mut Side,
    ) {
        let address = echo.unwrap_or(&self.server).address();
        self.round_at(session, &address, echo, side);
    }

    /// Runs one round at one of the server's addresses, or at the echo's.
    pub fn round_at(
        &mut self,
        (session, plan): (&Stage, &Plan),
        address: &ServerAddress,
        echo: Option<&ServerProcess>,
        side: &mut Side,
    ) {
        let server = echo.unwrap_or(&self.server);
        let answering = echo.map_or(Answerer::Engine, |_| Answerer::Echo);
        let before = server.cpu_time().unwrap_or_default();
        let measure = measure(session, plan, (answering, address), &mut self.interrupt);
        let (measured, _) = self.runtime.block_on(measure).expect("it runs");
        side.cpu += server.cpu_time().unwrap_or_default().saturating_sub(before);
        side.add(&measured);
    }

    /// Runs one round over TCP, and at the same time one of a scene on another server, whose results are discarded.
    pub fn round_beside(
        &mut self,
        (session, plan): (&Stage, &Plan),
        other: &mut Served,
        (beside, its_plan): (&Stage, &Plan),
        side: &mut Side,
    ) {
        let [here, there] = [&self.server, &other.server].map(ServerProcess::address);
        let run = measure(session, plan, (Answerer::Engine, &here), &mut self.interrupt);
        let beside = measure(beside, its_plan, (Answerer::Engine, &there), &mut other.interrupt);
        let both = async { tokio::join!(run, beside) };
        let (measured, beside) = self.runtime.block_on(both);
        beside.expect("it runs");
        side.add(&measured.expect("it runs").0);
    }
}

impl Side {
    pub fn new() -> Side {
        Side { all: Measured::new(DEADLINE), p50s: Vec::new(), cpu: Duration::ZERO }
    }

    fn add(&mut self, measured: &Measured) {
        self.p50s.push(measured.tally.round_trip.percentile_us(50.0).unwrap_or(f64::INFINITY));
        self.all.tally.add(&measured.tally);
        self.all.hiccups.add(&measured.hiccups);
        self.all.deformations.update.add(&measured.deformations.update);
    }

    /// Returns the share of ticks that took longer than the deadline, percent.
    pub fn missed_percent(&self) -> f64 {
        100.0 * self.all.tally.missed as f64 / self.all.tally.sent as f64
    }

    /// Returns a percentile of the round trips of all rounds, microseconds.
    pub fn round_trip_us(&self, percent: f64) -> f64 {
        self.all.tally.round_trip.percentile_us(percent).unwrap_or(f64::INFINITY)
    }

    /// Returns a percentile of the time in the engine, microseconds.
    pub fn compute_us(&self, percent: f64) -> f64 {
        self.all.tally.compute.percentile_us(percent).unwrap_or(0.0)
    }

    /// Returns the least and the greatest median of a round.
    pub fn range_us(&self) -> (f64, f64) {
        let p50s = self.p50s.iter().copied();
        (p50s.clone().fold(f64::INFINITY, f64::min), p50s.fold(0.0, f64::max))
    }

    /// Returns the mean size of an answer.
    pub fn answer_bytes(&self) -> u64 {
        self.all.tally.answer_bytes / self.all.tally.answers.max(1)
    }

    /// Returns the server's processor time per tick sent, microseconds.
    pub fn cpu_us_per_tick(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.all.tally.sent.max(1) as f64
    }
}

/// Starts the program under test with these arguments; `PALPATE_SERVER_BIN` names another build's.
pub fn start(args: &[&str]) -> ServerProcess {
    let other = env::var_os("PALPATE_SERVER_BIN").map(PathBuf::from);
    let program = other.unwrap_or_else(|| env!("CARGO_BIN_EXE_palpate").into());
    ServerProcess::start(&program, args).expect("a server")
}

/// Returns a plan of a bead against an organ of 20 k triangles: little work in the engine, so that the transport shows.
pub fn bead_plan(n_clients: u32, rate_hz: f64, seconds: f64) -> Plan {
    plan(PhantomTissue::smooth(), &bead(), n_clients, rate_hz, seconds)
}

/// Returns the tool of [`bead_plan`].
pub fn bead() -> MeshData {
    shapes::sphere(0.0005, 1)
}

/// Returns the tool of [`liver_plan`].
pub fn stylus() -> MeshData {
    shapes::capsule(0.001, 0.04, 8)
}

/// Returns a plan of a stylus against the tissue of P4, all of which moves `deform_hz` times a second.
pub fn liver_plan(effort: Effort, deform_hz: f64, seconds: f64) -> (String, Plan) {
    let (name, liver) = inputs::liver(effort);
    let file = obj_file("liver", &data(&liver.mesh));
    let organ = PhantomTissue::open(&file, 1.0).expect("just written");
    let plan = plan(organ, &stylus(), 1, 1000.0, seconds);
    (name, Plan { deform_hz, deform_share: Some(1.0), ..plan })
}

fn plan(organ: PhantomTissue, tool: &MeshData, n_clients: u32, rate_hz: f64, seconds: f64) -> Plan {
    let instrument = Instrument::open(&obj_file("tool", tool), 1.0, 0.0).expect("just written");
    Plan {
        n_clients,
        is_connection_shared: false,
        rate_hz,
        seconds,
        deform_hz: 0.0,
        deform_share: None,
        cut_hz: 0.0,
        is_rendered: false,
        has_nodule: false,
        device: None,
        is_guided: false,
        busy_threads: 0,
        deadline: DEADLINE,
        organ,
        instrument: Arc::new(instrument),
    }
}

fn data(mesh: &TriangleMesh) -> MeshData {
    let triangles = mesh.triangle_ids().map(|t| mesh.vertices(t)).collect();
    MeshData { positions: mesh.positions().to_vec(), triangles }
}

fn obj_file(name: &str, mesh: &MeshData) -> PathBuf {
    let mut text = String::new();
    for p in &mesh.positions {
        text += &format!("v {} {} {}\n", p.x, p.y, p.z);
    }
    for [a, b, c] in &mesh.triangles {
        text += &format!("f {} {} {}\n", a + 1, b + 1, c + 1);
    }
    let file = env::temp_dir().join(format!("palpate-bench-{}-{name}.obj", process::id()));
    fs::write(&file, text).expect("room for a mesh");
    file
}
