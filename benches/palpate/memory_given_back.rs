//! A2: memory of a server some time after ten large tissues came and went, and ticks in the meantime.

use std::{thread, time::Duration};

use palpate::{
    client::{Client, address::ServerAddress, mesh_source::MeshSource},
    oracle::shapes,
};

use crate::{
    run::{Figures, Run},
    served::{Served, Side, bead, bead_plan},
};

const RATE_HZ: f64 = 1000.0;
const N_TISSUES: usize = 10;
/// Time from the last deletion to the reading of the memory.
const AFTER: Duration = Duration::from_secs(10);

/// Prints a line.
pub fn run(run: &mut Run) {
    let mut served = Served::start();
    let address = served.server.address();
    let plan = bead_plan(1, RATE_HZ, run.effort.of(1.0, 0.2));
    let checksum = served.check(&plan, &bead());
    let stage = served.set_up(&plan);
    let [mut alone, mut beside] = [(); 2].map(|()| Side::new());
    served.round((&stage, &plan), None, &mut alone);
    let before = served.server.memory().unwrap_or(0);
    let frequency = run.effort.of(150, 30);
    let coming = thread::spawn(move || come_and_go(&address, frequency));
    while !coming.is_finished() {
        served.round((&stage, &plan), None, &mut beside);
    }
    coming.join().expect("no panic");
    // Memory is given back during ticks too.
    let mut after = Side::new();
    for _ in 0..run.effort.of(5, 1) {
        served.round((&stage, &plan), None, &mut after);
    }
    thread::sleep(run.effort.of(AFTER, Duration::ZERO));
    let [before, peak, left] =
        [before, served.server.memory_peak().unwrap_or(0), served.server.memory().unwrap_or(0)]
            .map(|bytes| bytes as f64 / 1e6);
    let told = |who: &str, side: &Side| {
        let us = |percent| Figures(side.round_trip_us(percent));
        format!("{who}_us={} {who}_p99_us={} {who}_max_us={}", us(50.0), us(99.0), us(100.0))
    };
    let text = format!(
        "{} {} {} before_mb={before:.0} peak_mb={peak:.0} left_mb={left:.0}",
        told("beside", &beside),
        told("after", &after),
        told("alone", &alone),
    );
    run.line("A2", "tissues", checksum, text);
}

fn come_and_go(address: &ServerAddress, frequency: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut client = Client::connect(address).await.expect("it listens");
        let mesh = MeshSource::Raw(shapes::sphere(0.1, frequency));
        for i in 0..N_TISSUES {
            let scene = format!("passing-{i}");
            client.create_scene(&scene).await.expect("room");
            client.add_tissue(&scene, "tissue", &mesh).await.expect("room");
            client.delete_scene(&scene).await.expect("it is there");
        }
    });
}
