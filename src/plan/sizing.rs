//! Number of machines for a workload, from the resources that a scene takes and a machine has.

use serde::Serialize;

use super::{
    figure::{
        LINK_MB, MEMORY_SHARE, POSITION_BYTES, SERVER_MB, TRANSPORT_US, TRIANGLE_BYTES, UPDATE_NS,
        USED_MAX,
    },
    queueing::Waits,
    workload::{Machine, Workload},
};
use crate::config::Config;

/// Cores of a machine reserved for writers, decoding and uploads.
const BACKGROUND_CORES: u64 = 1;
/// Bytes around a message: 5 of gRPC, 9 of an HTTP/2 frame, 66 of TCP, IP and Ethernet.
const ENVELOPE_BYTES: f64 = 80.0;
/// Bytes of a tick request: pose and times.
const REQUEST_BYTES: f64 = 250.0;
/// Bytes of a moved vertex: index and position.
const MOVED_VERTEX_BYTES: f64 = 16.0;

/// Machines for a workload, and their load.
#[derive(Clone, Debug, Serialize)]
pub struct Sizing {
    /// Number of machines, including spare ones.
    pub machines: u64,
    /// Scenes that one machine carries: the capacity of the counter `scenes`.
    pub scenes_per_machine: u64,
    /// Loops that one machine carries with that many scenes: the capacity of the counter `loops`.
    pub loops_per_machine: u64,
    /// Name of the scarcest resource.
    pub bound_by: &'static str,
    /// Resources that one scene takes and one machine has.
    pub resources: Vec<Resource>,
    /// Share of the ticks that wait for a core on a full machine.
    pub waiting_share: f64,
    /// Mean wait of ticks, including those that do not wait; microseconds.
    pub wait_us_mean: f64,
    /// 99th percentile of the wait of ticks; microseconds.
    pub wait_us_p99: f64,
    /// Memory of all scenes; gigabytes.
    pub memory_gb: f64,
    /// Traffic to the servers, over all scenes; gigabits each second.
    pub received_gbit: f64,
    /// Traffic from the servers, over all scenes; gigabits each second.
    pub sent_gbit: f64,
    /// Positions written to the disks or the store, over all scenes; megabytes each second.
    pub journal_mb: f64,
}

/// A resource of a machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Resource {
    /// Name of the resource.
    pub name: &'static str,
    /// Unit of both amounts.
    pub unit: &'static str,
    /// Amount that a scene takes with its share of the loops.
    pub scene_takes: f64,
    /// Amount that a server may use of a machine.
    pub machine_has: f64,
}

/// Reasons why no number of machines carries the workload.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SizingError {
    /// A scene exceeds a machine: a scene is not shared between machines.
    #[error(
        "{name}: a scene takes {takes:.2} {unit}, a machine has {has:.2}; expected smaller scenes, or larger machines"
    )]
    SceneTooLarge {
        /// Name of the resource.
        name: &'static str,
        /// Unit of both amounts.
        unit: &'static str,
        /// Amount that a scene takes.
        takes: f64,
        /// Amount that a machine has.
        has: f64,
    },
    /// A tick takes longer than its period: the loop asks for the next tick before the last one is answered.
    #[error(
        "a tick takes {takes_us:.0} us and a loop has one every {every_us:.0} us; expected less"
    )]
    TickTooLong {
        /// Time of a tick, including the transport; microseconds.
        takes_us: f64,
        /// Time between two ticks; microseconds.
        every_us: f64,
    },
}

impl Sizing {
    /// Computes the machines for this workload.
    ///
    /// # Errors
    /// Returns an error if one scene exceeds a machine, or a tick takes longer than its period.
    pub fn of(workload: &Workload, machine: &Machine) -> Result<Sizing, SizingError> {
        let takes_us = workload.tick_us + TRANSPORT_US.value;
        let every_us = 1e6 / workload.rate_hz;
        if takes_us > every_us {
            return Err(SizingError::TickTooLong { takes_us, every_us });
        }
        let resources = resources(workload, machine);
        let carried = |r: &Resource| (r.machine_has / r.scene_takes).floor();
        let least = resources.iter().min_by(|a, b| carried(a).total_cmp(&carried(b)));
        let Resource { name, unit, scene_takes: takes, machine_has: has } =
            *least.expect("there are some");
        if takes > has {
            return Err(SizingError::SceneTooLarge { name, unit, takes, has });
        }
        // limits.scenes bounds it, so that it is always finite.
        let scenes_per_machine = (has / takes).floor() as u64;
        let loops_of_scene = workload.loops as f64 / workload.scenes as f64;
        let on_one = (scenes_per_machine as f64 * loops_of_scene).ceil();
        let tick_cores = machine.cores - BACKGROUND_CORES;
        let offered = scenes_per_machine as f64 * loops_of_scene * takes_us / every_us;
        let waits = Waits::of(tick_cores, offered, takes_us);
        let scenes = workload.scenes as f64;
        let taken = |name: &str| {
            let found = resources.iter().find(|r| r.name == name);
            scenes * found.expect("a resource").scene_takes
        };
        let vertices = workload.triangles as f64 / 2.0;
        let is_deformed = f64::from(u8::from(workload.deform_hz > 0.0));
        Ok(Sizing {
            machines: workload.scenes.div_ceil(scenes_per_machine) + machine.spare,
            scenes_per_machine,
            loops_per_machine: on_one as u64,
            bound_by: name,
            waiting_share: waits.share,
            wait_us_mean: waits.mean,
            wait_us_p99: waits.p99,
            memory_gb: taken(MEMORY) / 1e3,
            received_gbit: taken(RECEIVED),
            sent_gbit: taken(SENT),
            journal_mb: scenes * vertices * POSITION_BYTES.value * is_deformed / 1e6,
            resources,
        })
    }
}

const MEMORY: &str = "memory";
const RECEIVED: &str = "network in";
const SENT: &str = "network out";

fn resources(workload: &Workload, machine: &Machine) -> Vec<Resource> {
    let config = Config::default();
    let loops = workload.loops as f64 / workload.scenes as f64;
    let ticks = loops * workload.rate_hz;
    let tick_s = 1e-6 * (workload.tick_us + TRANSPORT_US.value);
    let moved = workload.moved * workload.triangles as f64;
    // Reading and decoding a deformation was not measured separately: it is assumed to take as long as the update.
    let update_s = 2.0 * 1e-9 * UPDATE_NS.value * moved * workload.deform_hz;
    let memory_mb = 1e-6 * TRIANGLE_BYTES.value * workload.triangles as f64
        + workload.field_mb
        + loops * workload.links as f64 * LINK_MB.value;
    let deformation_bytes = moved / 2.0 * MOVED_VERTEX_BYTES + ENVELOPE_BYTES;
    let received =
        ticks * (REQUEST_BYTES + ENVELOPE_BYTES) + workload.deform_hz * deformation_bytes;
    let sent = ticks * (workload.answer_bytes + ENVELOPE_BYTES);
    let gbit = |bytes: f64| 8e-9 * bytes;
    let of =
        |name, unit, scene_takes, machine_has| Resource { name, unit, scene_takes, machine_has };
    let cores = USED_MAX.value * (machine.cores - BACKGROUND_CORES) as f64;
    let memory_has = 1.073_741_824e3 * machine.memory_gib * MEMORY_SHARE.value - SERVER_MB.value;
    let network = USED_MAX.value * machine.network_gbit;
    vec![
        of("cores of ticks", "cores", ticks * tick_s, cores),
        of("cores of writers", "cores", update_s, USED_MAX.value * BACKGROUND_CORES as f64),
        of(MEMORY, "MB", memory_mb, memory_has),
        of(RECEIVED, "Gbit/s", gbit(received), network),
        of(SENT, "Gbit/s", gbit(sent), network),
        of("limits.scenes", "scenes", 1.0, config.limits.scenes as f64),
        // A key may have at most half of the sessions.
        of("sessions.count_max", "sessions", loops, config.sessions.count_max as f64 / 2.0),
        // Each loop has a connection of its own, and so has each scene's solver.
        of(
            "transport.connections_max",
            "connections",
            loops + 1.0,
            config.transport.connections_max as f64,
        ),
    ]
}

/// Returns the assumptions of a sizing, in words.
pub fn assumptions(workload: &Workload, machine: &Machine) -> Vec<String> {
    vec![
        format!(
            "one server a machine, alone there, with the default settings; {BACKGROUND_CORES} of its {} cores is left to \
             writers, decoding and uploads",
            machine.cores
        ),
        "loops are spread evenly over the scenes, and ticks come at random: paced loops wait less"
            .to_owned(),
        format!(
            "a tick takes {:.0} us in the engine in the mean: measure it with your meshes, palpate load",
            workload.tick_us
        ),
        "decoding a deformation takes as long as the update (not measured apart)".to_owned(),
        format!(
            "a tick has {REQUEST_BYTES:.0} bytes in and {:.0} out and {ENVELOPE_BYTES:.0} around each (P9 had answers of \
             474 bytes, with few contacts)",
            workload.answer_bytes
        ),
        "a tissue has half as many vertices as triangles; half of the network is used".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workload() -> impl Strategy<Value = Workload> {
        (
            (1u64..5_000, 0u64..3, 1.0f64..900.0, 1.0f64..1000.0),
            (100u64..200_000, 0.0f64..120.0, 0.0f64..1.0, 0.0f64..200.0),
        )
            .prop_map(
                |((scenes, loops, tick_us, rate_hz), (triangles, deform_hz, moved, field_mb))| {
                    let (answer_bytes, links, loops) = (1600.0, 3, loops * scenes);
                    Workload {
                        scenes,
                        loops,
                        tick_us,
                        rate_hz,
                        answer_bytes,
                        triangles,
                        deform_hz,
                        moved,
                        field_mb,
                        links,
                    }
                },
            )
    }

    const MACHINE: Machine = Machine { cores: 16, memory_gib: 64.0, network_gbit: 10.0, spare: 1 };

    /// Returns `u64::MAX` if no number of machines carries the workload.
    fn machines(workload: &Workload, machine: &Machine) -> u64 {
        Sizing::of(workload, machine).map_or(u64::MAX, |sizing| sizing.machines)
    }

    proptest! {
        #[test]
        fn more_work_never_needs_fewer_machines(w in workload(), more in 1.0f64..3.0) {
            let now = machines(&w, &MACHINE);
            let whole = |n: u64| (n as f64 * more).ceil() as u64;
            let grown = [
                Workload { loops: whole(w.loops), ..w.clone() },
                Workload { tick_us: more * w.tick_us, ..w.clone() },
                Workload { rate_hz: more * w.rate_hz, ..w.clone() },
                Workload { answer_bytes: more * w.answer_bytes, ..w.clone() },
                Workload { triangles: whole(w.triangles), ..w.clone() },
                Workload { deform_hz: more * w.deform_hz, ..w.clone() },
                Workload { moved: (more * w.moved).min(1.0), ..w.clone() },
                Workload { field_mb: more * w.field_mb, ..w.clone() },
                // Both grow: with the same loops in more scenes, smaller scenes may be packed more tightly.
                Workload { scenes: 2 * w.scenes, loops: 2 * w.loops, ..w.clone() },
            ];
            for (i, grown) in grown.iter().enumerate() {
                prop_assert!(machines(grown, &MACHINE) >= now, "{i}: {grown:?}");
            }
        }

        #[test]
        fn larger_machines_are_never_more(w in workload(), more in 1.0f64..3.0) {
            let now = machines(&w, &MACHINE);
            let larger = [
                Machine { cores: (16.0 * more) as u64, ..MACHINE },
                Machine { memory_gib: 64.0 * more, ..MACHINE },
                Machine { network_gbit: 10.0 * more, ..MACHINE },
            ];
            for (i, larger) in larger.iter().enumerate() {
                prop_assert!(machines(&w, larger) <= now, "{i}: {larger:?}");
            }
        }

        #[test]
        fn all_scenes_have_room_and_no_machine_is_overfull(w in workload()) {
            let Ok(sizing) = Sizing::of(&w, &MACHINE) else { return Ok(()) };
            prop_assert!((sizing.machines - MACHINE.spare) * sizing.scenes_per_machine >= w.scenes);
            for r in &sizing.resources {
                // The quotient may have been rounded up to a whole number.
                let taken = sizing.scenes_per_machine as f64 * r.scene_takes;
                prop_assert!(taken <= r.machine_has * (1.0 + 1e-12), "{r:?}");
            }
            // Another scene would exceed the scarcest resource.
            let least = sizing.resources.iter().find(|r| r.name == sizing.bound_by).expect("named");
            prop_assert!((sizing.scenes_per_machine + 1) as f64 * least.scene_takes > least.machine_has * (1.0 - 1e-12));
        }
    }

    #[test]
    fn what_no_machine_carries_is_refused_by_name() {
        let few = Workload {
            scenes: 1,
            loops: 1,
            tick_us: 100.0,
            rate_hz: 1000.0,
            answer_bytes: 1600.0,
            triangles: 1000,
            deform_hz: 60.0,
            moved: 0.1,
            field_mb: 1e6,
            links: 1,
        };
        let refused = Sizing::of(&few, &MACHINE).expect_err("a terabyte");
        assert!(matches!(refused, SizingError::SceneTooLarge { name: MEMORY, .. }), "{refused}");
        let many = Workload { loops: 1_000_000, field_mb: 1.0, ..few.clone() };
        let said = Sizing::of(&many, &MACHINE).expect_err("a million loops").to_string();
        let expected = "cores of ticks: a scene takes 140000.00 cores, a machine has 7.50; ";
        assert!(said.starts_with(expected), "{said}");
        let slow = Workload { tick_us: 990.0, field_mb: 1.0, ..few };
        let refused = Sizing::of(&slow, &MACHINE).expect_err("1,030 us of 1,000");
        assert_eq!(refused, SizingError::TickTooLong { takes_us: 1030.0, every_us: 1000.0 });
    }
}
