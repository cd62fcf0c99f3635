//! Properties that the system reports, as far as they matter to ticks.

use std::{fs, thread};

use super::finding::{Finding, Grade};
use crate::os::process::{ProcessLimit, descriptors_max, real_time_priority_max};

/// Descriptors for the default 256 connections, files and a reserve.
const DESCRIPTORS_MIN: u64 = 1024;
/// Least number of cores: one for ticks, one for deformations.
const CORES_MIN: usize = 2;

/// Returns every finding that is available here; properties that the system does not report are omitted.
pub fn findings() -> Vec<Finding> {
    let all = [
        cores(),
        governor(),
        clock(),
        virtual_machine(),
        quota(),
        load(),
        descriptors(),
        priority(),
    ];
    all.into_iter().flatten().collect()
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn cores() -> Option<Finding> {
    // Only cores that this process may use count: its affinity and its quota are taken into account.
    let n = thread::available_parallelism().ok()?.get();
    let isolated = read("/sys/devices/system/cpu/isolated").filter(|list| !list.is_empty());
    let found = match isolated {
        Some(list) => format!("{n} usable, {list} isolated from other programs"),
        None => format!("{n} usable, none isolated from other programs"),
    };
    let grade = if n >= CORES_MIN { Grade::Good } else { Grade::Poor };
    let advice = "a core for ticks and one for deformations.";
    Some(Finding { name: "cores", found, grade, advice })
}

fn governor() -> Option<Finding> {
    let found = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    let grade = if found == "performance" { Grade::Good } else { Grade::Fair };
    let advice = "The governor \"performance\" keeps the clock up between ticks.";
    Some(Finding { name: "governor", found, grade, advice })
}

fn clock() -> Option<Finding> {
    let found = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    // These clocks are read without a system call.
    let is_cheap = ["tsc", "kvm-clock", "arch_sys_counter"].contains(&&*found);
    let grade = if is_cheap { Grade::Good } else { Grade::Fair };
    let advice = "Each reading of this clock is a system call; tsc is not.";
    Some(Finding { name: "clock", found, grade, advice })
}

fn virtual_machine() -> Option<Finding> {
    // The flag that a hypervisor shows its guests; a real machine has none.
    let is_guest =
        read("/proc/cpuinfo")?.lines().any(|l| l.starts_with("flags") && l.contains(" hypervisor"));
    let (found, grade) =
        if is_guest { ("a virtual machine", Grade::Fair) } else { ("not virtual", Grade::Good) };
    let advice = "Its host may stop it at any time; what was measured above includes that.";
    Some(Finding { name: "machine", found: found.to_owned(), grade, advice })
}

/// Checks the quota: a quota stops all threads for the rest of its period.
fn quota() -> Option<Finding> {
    let found = read("/sys/fs/cgroup/cpu.max")?;
    let is_free = found.starts_with("max");
    let grade = if is_free { Grade::Good } else { Grade::Poor };
    let found = if is_free { "no CPU quota".to_owned() } else { format!("cpu.max = {found}") };
    let advice = "no CPU quota, or ticks stand still for the rest of each period.";
    Some(Finding { name: "quota", found, grade, advice })
}

fn load() -> Option<Finding> {
    let text = read("/proc/loadavg")?;
    let now: f64 = text.split(' ').next()?.parse().ok()?;
    let cores = thread::available_parallelism().ok()?.get() as f64;
    // With a third of the cores free, an arriving tick finds one most of the time.
    let grade = if now < 0.7 * cores { Grade::Good } else { Grade::Fair };
    let advice = "Other programs want the cores; they make ticks late.";
    Some(Finding {
        name: "load",
        found: format!("{now:.1} of {cores:.0} cores wanted"),
        grade,
        advice,
    })
}

fn descriptors() -> Option<Finding> {
    let (found, grade) = match descriptors_max()? {
        ProcessLimit::AtMost(n) => (
            format!("{n} open files allowed"),
            if n >= DESCRIPTORS_MIN { Grade::Good } else { Grade::Poor },
        ),
        ProcessLimit::None => ("no limit".to_owned(), Grade::Good),
    };
    let advice = "RLIMIT_NOFILE of at least 1,024 (LimitNOFILE= in systemd).";
    Some(Finding { name: "descriptors", found, grade, advice })
}

fn priority() -> Option<Finding> {
    // The limit is for `chrt` before the server: the server itself never asks for a priority.
    let (found, grade) = match real_time_priority_max()? {
        ProcessLimit::AtMost(0) => ("real-time priority is not allowed".to_owned(), Grade::Fair),
        ProcessLimit::AtMost(n) => (format!("real-time priority up to {n} allowed"), Grade::Good),
        ProcessLimit::None => ("real-time priority allowed".to_owned(), Grade::Good),
    };
    let advice = "With RLIMIT_RTPRIO, `chrt -f 50 palpate serve` runs before other programs.";
    Some(Finding { name: "priority", found, grade, advice })
}
