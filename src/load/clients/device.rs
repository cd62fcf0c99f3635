//! A simulated device and the hand that holds it, on a thread of its own. A servo at some kilohertz runs on the newest
//! local model; models arrive late or get lost, as on a network.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    client::local_model::fill,
    coupling::{local_model::LocalModel, posture::Posture, spring::Spring},
    geometry::Pose,
    load::{
        report::{
            fidelity::{COMPARED_HZ, COMPARED_S, HeldSample},
            servo::ServoTally,
        },
        stage::{
            held_device::{DeviceMotion, HeldDevice},
            path::Path,
            phantom::Instrument,
        },
    },
    oracle::Random,
    proto,
    servo::{DeviceFeed, DevicePose, DeviceServo, ServoOptions, device_servo},
};

/// Plan of a device's thread.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// Samples a second.
    pub servo_hz: f64,
    /// The device and its hand.
    pub device: HeldDevice,
    /// Stiffness of the spring, N/m.
    pub stiffness_n_per_m: f64,
    /// Delay of each answer.
    pub delay: Duration,
    /// Greatest additional random delay of an answer.
    pub jitter: Duration,
    /// Share of the answers that never come, 0 to 1.
    pub loss: f64,
    /// True if the hand stops at the deepest point of the path, and holds.
    pub holds: bool,
}

/// The client's side of the device: passes models to it, and reads its pose.
pub struct DeviceThread {
    plan: DevicePlan,
    feed: DeviceFeed,
    pose: Pose,
    /// Models under way: due time, model, and its tick's sending time, nanoseconds since the start.
    on_its_way: VecDeque<(Instant, LocalModel, u64)>,
    random: Random,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<ServoTally>,
}

impl DeviceThread {
    /// Starts the device's thread; its first sample is due at `started`.
    pub fn start(
        plan: &DevicePlan,
        tool_id: u32,
        (instrument, path): (Arc<Instrument>, Arc<Path>),
        (started, seconds): (Instant, f64),
    ) -> DeviceThread {
        let pose = instrument.pose(&path.site(0.0), path.side);
        let spring = Spring { stiffness_n_per_m: plan.stiffness_n_per_m, ..Spring::DESKTOP };
        let options = ServoOptions { spring, ..ServoOptions::of(tool_id) };
        let (servo, feed) =
            device_servo(options).expect("stiffness was checked with the arguments");
        let ended = Arc::new(AtomicBool::new(false));
        let device = DeviceLoop {
            plan: plan.clone(),
            servo,
            instrument,
            path,
            started,
            n_samples: (plan.servo_hz * seconds) as u64,
            ended: Arc::clone(&ended),
        };
        let thread = thread::spawn(move || device.run());
        let random = Random::new(tool_id.into());
        let on_its_way = VecDeque::new();
        DeviceThread { plan: plan.clone(), feed, pose, on_its_way, random, ended, thread }
    }

    /// Returns the current pose of the device.
    pub fn pose(&mut self) -> Pose {
        self.pose = self.feed.pose().map_or(self.pose, |at| at.posture.scene_from_tool);
        self.pose
    }

    /// Takes the model of an answer, which the simulated network delays or loses.
    pub fn answered(&mut self, answer: &proto::TrackResponse, now: Instant) {
        let sent = answer.renderings.first().and_then(|r| r.local_model.as_ref());
        let Some(sent) = sent.filter(|_| self.random.f64() >= self.plan.loss) else { return };
        let mut model = LocalModel::EMPTY;
        // A malformed model is treated as lost; the report counts unsound answers.
        if fill(&mut model, sent).is_ok() {
            let late = self.plan.delay + self.plan.jitter.mul_f64(self.random.f64());
            self.on_its_way.push_back((now + late, model, answer.client_time_ns as u64));
        }
    }

    /// Passes the models that are due by now to the device.
    pub fn deliver(&mut self, now: Instant) {
        while self.on_its_way.front().is_some_and(|(due, ..)| *due <= now) {
            let (_, model, sent_ns) = self.on_its_way.pop_front().expect("it was looked at");
            self.feed.give(&model, sent_ns);
        }
    }

    /// Ends the device's thread; returns its samples.
    pub fn end(self) -> ServoTally {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("a device's thread does not panic")
    }
}

struct DeviceLoop {
    plan: DevicePlan,
    servo: DeviceServo,
    instrument: Arc<Instrument>,
    path: Arc<Path>,
    started: Instant,
    n_samples: u64,
    ended: Arc<AtomicBool>,
}

impl DeviceLoop {
    fn run(mut self) -> ServoTally {
        let dt_s = 1.0 / self.plan.servo_hz;
        let mut tally = ServoTally::default();
        // If the servo is slow, each sample is compared.
        let compared_every = (self.plan.servo_hz / COMPARED_HZ).round().max(1.0) as u64;
        let mut motion =
            DeviceMotion { position: self.wanted(0.0).translation, ..Default::default() };
        for sample in 0..self.n_samples {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            let seconds = sample as f64 * dt_s;
            let due = self.started + Duration::from_secs_f64(seconds);
            // Late samples are made up for: the device's time is the run's.
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let wanted = self.wanted(seconds);
            let pose = Pose { translation: motion.position, ..wanted };
            let mut posture = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
            let links = self.instrument.link_poses(seconds);
            posture.tool_from_link[..links.len()].copy_from_slice(&links);
            let at_ns = Duration::from_secs_f64(seconds).as_nanos() as u64;
            let felt = self.servo.step(&DevicePose { posture, n_links: links.len(), at_ns }, dt_s);
            if sample.is_multiple_of(compared_every) && seconds < COMPARED_S {
                tally.held.push(HeldSample { seconds, at: pose, felt_n: felt.force_n });
            }
            let before = motion.position;
            self.plan.device.step(&mut motion, wanted.translation, felt.force_n, dt_s);
            let holds = self.plan.holds && seconds >= Path::DEEPEST_S + SETTLED_S;
            tally.note(seconds, &felt, motion.position - before, holds.then_some(motion.position));
        }
        tally.others = self.servo.work_of_others();
        tally
    }

    /// Returns the pose to which the hand pulls the tool.
    fn wanted(&self, seconds: f64) -> Pose {
        let seconds = if self.plan.holds { seconds.min(Path::DEEPEST_S) } else { seconds };
        self.instrument.pose(&self.path.site(seconds), self.path.side)
    }
}

/// Time from the start of holding until contact counts as steady, seconds.
const SETTLED_S: f64 = 1.0;
