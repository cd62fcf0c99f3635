//! Paces ticks: one every 1/rate seconds, accurate to some microseconds.
//!
//! A client is one thread with a runtime of its own, so that neither a tick nor its answer crosses threads. It sleeps
//! on a kernel timer that wakes the runtime's own poll (tokio's timers count whole milliseconds), and spins through the
//! runtime for the rest, so answers are read while it spins.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::task::yield_now;

/// Longest time before its instant at which a lone client begins to spin. The kernel wakes a thread within this time on
/// an idle machine.
const SPIN_MAX: Duration = Duration::from_micros(150);
const SPIN_MIN: Duration = Duration::from_micros(20);

/// An open-loop schedule: instants depend on the start and the rate only, never on the lateness of the client.
pub struct Pacer {
    started: Instant,
    rate_hz: f64,
    n_ticks: u64,
    next: u64,
    spin: Duration,
    spin_max: Duration,
    alarm: Alarm,
}

/// A tick whose instant was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Index of the tick, from 0.
    pub index: u64,
    /// Instant at which the tick should be sent; its time counts from here, however late it is.
    pub intended: Instant,
}

impl Pacer {
    /// Schedules `n_ticks` from `started` on. `n_pacers` share the machine: together they spin no longer than one
    /// would, so with many pacers a tick is sent a little later, which its time includes.
    ///
    /// # Errors
    /// Returns an error if there is no timer.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O.
    pub fn new(started: Instant, rate_hz: f64, n_ticks: u64, n_pacers: u32) -> io::Result<Pacer> {
        // Clients that all spin for the full time would take the cores from the server that they measure.
        let spin_max = SPIN_MAX / n_pacers.max(1);
        let alarm = Alarm::new()?;
        Ok(Pacer { started, rate_hz, n_ticks, next: 0, spin: spin_max, spin_max, alarm })
    }

    /// Waits for the next tick; returns `None` after the last. Dropping the future loses no tick.
    ///
    /// # Errors
    /// Returns an error if the timer fails.
    pub async fn due(&mut self) -> io::Result<Option<Due>> {
        if self.next == self.n_ticks {
            return Ok(None);
        }
        let due = Due { index: self.next, intended: self.intended(self.next) };
        // An overdue tick is sent at once, without the timer: after a stall the backlog is sent, and each tick has its
        // own lateness.
        let wake = due.intended - self.spin;
        if Instant::now() < wake {
            self.alarm.wait_until(wake).await?;
            self.adapt(wake.elapsed());
        }
        // The loop yields instead of spinning on the clock, so that answers are read meanwhile.
        while Instant::now() < due.intended {
            yield_now().await;
        }
        // The index advances only after the last await: if a select drops the future, the next call returns this tick
        // again.
        self.next += 1;
        Ok(Some(due))
    }

    /// Returns the newest tick whose instant was reached, after a stall. Earlier ticks are skipped.
    pub fn newest(&mut self, mut due: Due) -> Due {
        while self.next < self.n_ticks && self.intended(self.next) <= Instant::now() {
            due = Due { index: self.next, intended: self.intended(self.next) };
            self.next += 1;
        }
        due
    }

    fn intended(&self, index: u64) -> Instant {
        // The instant follows from the index and not from the previous instant: summed periods would sum their
        // rounding.
        self.started + Duration::from_secs_f64(index as f64 / self.rate_hz)
    }

    /// Adapts the spin to about twice the timer's lateness: quick to grow, slow to shrink.
    fn adapt(&mut self, late: Duration) {
        // With many clients the share of one is below the least spin, and a clamp with crossed ends would panic.
        let wanted = (2 * late).clamp(SPIN_MIN.min(self.spin_max), self.spin_max);
        // Too short a spin makes a tick late, too long a spin only costs time.
        self.spin = if wanted > self.spin {
            // A quarter of the way up and a 64th of the way down: one late wake outweighs 16 punctual ones.
            (3 * self.spin + wanted) / 4
        } else {
            (63 * self.spin + wanted) / 64
        };
    }
}

/// A kernel timer that a runtime can poll: the runtime sees a pipe that has eight bytes when time is up.
#[cfg(target_os = "linux")]
struct Alarm(tokio::net::unix::pipe::Receiver);

#[cfg(target_os = "linux")]
impl Alarm {
    fn new() -> io::Result<Alarm> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        // The timer does not block: the runtime asks first whether there is something to read, and may be woken too
        // early.
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Alarm(tokio::net::unix::pipe::Receiver::from_file_unchecked(timer.into())?))
    }

    async fn wait_until(&self, wake: Instant) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let left = wake.saturating_duration_since(Instant::now());
        // Zero would disarm the timer.
        let left = left.max(Duration::from_nanos(1));
        let at = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &at)?;
        loop {
            self.0.readable().await?;
            // A readiness left over from an earlier arming has nothing to read.
            match self.0.try_read(&mut [0u8; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|_| ()),
            }
        }
    }
}

/// Other systems have no such timer: all waiting is spinning.
#[cfg(not(target_os = "linux"))]
struct Alarm;

#[cfg(not(target_os = "linux"))]
impl Alarm {
    fn new() -> io::Result<Alarm> {
        Ok(Alarm)
    }

    async fn wait_until(&self, _wake: Instant) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_tick_once_in_order_never_early_even_when_dropped_or_overdue() {
        // Half of the ticks are overdue from the start: all are returned, with their original instants.
        let started = Instant::now() - Duration::from_millis(5);
        let mut pacer = Pacer::new(started, 2000.0, 20, 1).expect("a timer");
        for index in 0..20 {
            let due = loop {
                tokio::select! {
                    biased;
                    due = pacer.due() => break due.expect("timer").expect("more"),
                    // This branch drops the waiting future again and again.
                    () = yield_now() => {}
                }
            };
            assert!(Instant::now() >= due.intended);
            assert_eq!(due.index, index);
            assert_eq!(due.intended, started + Duration::from_micros(500 * index));
        }
        assert_eq!(pacer.due().await.expect("timer"), None);
    }

    #[tokio::test]
    async fn after_a_stall_the_newest_is_given_and_those_before_it_are_left_out() {
        let started = Instant::now() - Duration::from_millis(50);
        let mut pacer = Pacer::new(started, 100.0, 1_000, 1).expect("a timer");
        let first = pacer.due().await.expect("timer").expect("more");
        assert_eq!(first.index, 0);
        let newest = pacer.newest(first);
        assert!(newest.index >= 5 && newest.intended.elapsed() < Duration::from_secs(5));
        let next = pacer.due().await.expect("timer").expect("more");
        assert_eq!(next.index, newest.index + 1);
        assert!(next.intended > newest.intended);
    }
}
