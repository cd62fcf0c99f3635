//! Greatest stiffness of a force on this machine, from its measured round trip.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::servo::stiffness::{MORE, USUAL_DAMPING_N_S_PER_M, stiffness_max};

const TICK: Duration = Duration::from_millis(1);
/// Sample period of a servo at 4 kHz, seconds.
const SERVO_SAMPLE_S: f64 = 2.5e-4;
/// Approximate size of a tick and of its answer on the wire.
const MESSAGE_BYTES: usize = 512;

/// The measured round trip and the resulting stiffness.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StiffnessFinding {
    /// 99th percentile of the round trip through a socket of this machine, a thousand a second, microseconds.
    pub round_trip_us_p99: f64,
    /// Stiffness with the force of a server on this machine, at 1 kHz, N/m. Both stiffnesses include late wakes.
    pub server_force_n_per_m: f64,
    /// Stiffness with a local model and a servo at 4 kHz, N/m.
    pub local_model_n_per_m: f64,
}

impl StiffnessFinding {
    /// Measures round trips for `seconds`. `late_us`: lateness of this machine's wakes, which delays any force.
    ///
    /// # Errors
    /// Returns an error without sockets.
    pub fn measure(seconds: f64, late_us: f64) -> io::Result<StiffnessFinding> {
        let round_trip_us_p99 = round_trip_us(Duration::from_secs_f64(seconds))?;
        let damping = USUAL_DAMPING_N_S_PER_M;
        let us = |us: f64| us / 1e6;
        Ok(StiffnessFinding {
            round_trip_us_p99,
            server_force_n_per_m: stiffness_max(
                damping,
                TICK.as_secs_f64(),
                us(round_trip_us_p99 + late_us),
            ),
            local_model_n_per_m: stiffness_max(damping, SERVO_SAMPLE_S, us(late_us)),
        })
    }

    /// Returns the finding as text for people.
    pub fn said(&self) -> String {
        format!(
            "up to {:.0} N/m with a server's force ({:.0} us there and back, p99), {:.0} N/m with a local model at \
             4 kHz, in a hand of {USUAL_DAMPING_N_S_PER_M} N s/m: of the spring and the tissue's material in series. \
             {MORE}",
            self.server_force_n_per_m, self.round_trip_us_p99, self.local_model_n_per_m
        )
    }
}

fn round_trip_us(time: Duration) -> io::Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = thread::spawn(move || {
        let mut bytes = [0; MESSAGE_BYTES];
        // The thread ends with the other side.
        while far.read_exact(&mut bytes).is_ok() && far.write_all(&bytes).is_ok() {}
    });
    let mut bytes = [0; MESSAGE_BYTES];
    let mut taken = Histogram::<u64>::new(3).expect("three digits are few");
    let begun = Instant::now();
    while taken.is_empty() || begun.elapsed() < time {
        thread::sleep(TICK);
        let sent = Instant::now();
        near.write_all(&bytes)?;
        near.read_exact(&mut bytes)?;
        taken.record(sent.elapsed().as_nanos() as u64).expect("it grows with what it records");
    }
    drop(near);
    echo.join().expect("it only reads and writes");
    Ok(taken.value_at_quantile(0.99) as f64 / 1e3)
}
