//! A simulated device and the hand that holds it, on a thread of its own: a servo at some kilohertz over the newest local
//! model, whose answers come late and are lost as a network would have it.

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
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::Pose,
    load::{
        report::servo::ServoTally,
        stage::{
            held_device::{DeviceMotion, HeldDevice},
            path::Path,
            phantom::Instrument,
        },
    },
    oracle::Random,
    proto,
    servo::{
        ServoOptions, ServoState,
        newest::{NewestGiver, NewestTaker, newest},
    },
};

/// What a device's thread does.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// Samples a second.
    pub servo_hz: f64,
    /// The device and its hand.
    pub device: HeldDevice,
    /// Of the spring, N/m.
    pub stiffness_n_per_m: f64,
    /// Each answer comes so much later.
    pub delay: Duration,
    /// And up to so much later than that.
    pub jitter: Duration,
    /// Share of the answers that never come, 0 to 1.
    pub loss: f64,
    /// The hand stops where the path presses deepest, and holds.
    pub holds: bool,
}

/// A model on its way to the servo, and when its tick was sent, seconds since the start.
#[derive(Clone, Debug)]
struct SentModel {
    model: LocalModel,
    sent_s: f64,
}

/// The side of the client: gives models to the device, and asks it where it is.
pub struct DeviceThread {
    plan: DevicePlan,
    models: NewestGiver<SentModel>,
    poses: NewestTaker<Pose>,
    pose: Pose,
    on_its_way: VecDeque<(Instant, SentModel)>,
    random: Random,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<ServoTally>,
}

impl DeviceThread {
    /// Starts it; its first sample is due at `started`.
    pub fn start(
        plan: &DevicePlan,
        tool_id: u32,
        (instrument, path): (Arc<Instrument>, Arc<Path>),
        (started, seconds): (Instant, f64),
    ) -> DeviceThread {
        let first = SentModel { model: LocalModel::EMPTY, sent_s: 0.0 };
        let (models, taken) = newest(&first);
        let pose = instrument.pose(&path.site(0.0), path.side);
        let (given, poses) = newest(&pose);
        let ended = Arc::new(AtomicBool::new(false));
        let device = DeviceLoop {
            plan: plan.clone(),
            servo: servo(plan, tool_id),
            instrument,
            path,
            started,
            n_samples: (plan.servo_hz * seconds) as u64,
            ended: Arc::clone(&ended),
        };
        let thread = thread::spawn(move || device.run(taken, given));
        let random = Random::new(tool_id.into());
        let on_its_way = VecDeque::new();
        DeviceThread { plan: plan.clone(), models, poses, pose, on_its_way, random, ended, thread }
    }

    /// Where the device is now.
    pub fn pose(&mut self) -> Pose {
        self.pose = self.poses.take(|pose| *pose).unwrap_or(self.pose);
        self.pose
    }

    /// Takes an answer's model in, on its way through the network that is played.
    pub fn answered(&mut self, answer: &proto::TrackResponse, now: Instant) {
        let sent = answer.renderings.first().and_then(|r| r.local_model.as_ref());
        let Some(sent) = sent.filter(|_| self.random.f64() >= self.plan.loss) else { return };
        let mut model = LocalModel::EMPTY;
        // A model that is none is as one that is lost; the report counts answers that are unsound.
        if fill(&mut model, sent).is_ok() {
            let late = self.plan.delay + self.plan.jitter.mul_f64(self.random.f64());
            let sent_s = answer.client_time_ns as f64 * 1e-9;
            self.on_its_way.push_back((now + late, SentModel { model, sent_s }));
        }
    }

    /// Hands over what has come by now.
    pub fn deliver(&mut self, now: Instant) {
        while self.on_its_way.front().is_some_and(|(due, _)| *due <= now) {
            let (_, model) = self.on_its_way.pop_front().expect("it was looked at");
            self.models.give(|place| *place = model);
        }
    }

    /// Ends it; what was felt.
    pub fn end(self) -> ServoTally {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("a device's thread does not panic")
    }
}

fn servo(plan: &DevicePlan, tool_id: u32) -> ServoState {
    let stiffness_n_per_m = plan.stiffness_n_per_m;
    let options = ServoOptions { stiffness_n_per_m, ..ServoOptions::of(tool_id) };
    ServoState::new(options).expect("stiffness was checked with the arguments")
}

struct DeviceLoop {
    plan: DevicePlan,
    servo: ServoState,
    instrument: Arc<Instrument>,
    path: Arc<Path>,
    started: Instant,
    n_samples: u64,
    ended: Arc<AtomicBool>,
}

impl DeviceLoop {
    fn run(
        mut self,
        mut models: NewestTaker<SentModel>,
        mut poses: NewestGiver<Pose>,
    ) -> ServoTally {
        let dt_s = 1.0 / self.plan.servo_hz;
        let mut tally = ServoTally::default();
        let mut motion =
            DeviceMotion { position: self.wanted(0.0).translation, ..Default::default() };
        for sample in 0..self.n_samples {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            let seconds = sample as f64 * dt_s;
            let due = self.started + Duration::from_secs_f64(seconds);
            // One that comes late is made up for: the device's time is the run's.
            thread::sleep(due.saturating_duration_since(Instant::now()));
            models.take(|sent| {
                // What is refused is older than what there is: answers overtake each other.
                let _ = self.servo.take(&sent.model, (seconds - sent.sent_s).max(0.0));
            });
            let wanted = self.wanted(seconds);
            let pose = Pose { translation: motion.position, ..wanted };
            let device = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
            let felt = self.servo.step(&device, dt_s);
            let before = motion.position;
            self.plan.device.step(&mut motion, wanted.translation, felt.force_n, dt_s);
            let holds = self.plan.holds && seconds >= Path::DEEPEST_S + SETTLED_S;
            tally.note(&felt, motion.position - before, holds.then_some(motion.position));
            poses.give(|place| *place = Pose { translation: motion.position, ..wanted });
        }
        tally
    }

    /// Where the hand wants the tool.
    fn wanted(&self, seconds: f64) -> Pose {
        let seconds = if self.plan.holds { seconds.min(Path::DEEPEST_S) } else { seconds };
        self.instrument.pose(&self.path.site(seconds), self.path.side)
    }
}

/// From where the hand holds on until contact counts as steady, seconds.
const SETTLED_S: f64 = 1.0;
