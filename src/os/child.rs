//! Child processes: graceful termination and use of resources.

use std::{
    io,
    process::{Child, Command},
    time::Duration,
};

/// Shields the child that will be started from a Ctrl-C meant for this process.
pub fn set_apart(command: &mut Command) {
    system::set_apart(command);
}

/// Asks a child that was set apart, and not waited for yet, to end: by SIGTERM, on Windows by Ctrl-Break.
///
/// # Errors
/// Returns an error if the child cannot be asked: it has ended or, on Windows, shares no console with this process.
pub fn ask_to_end(child: &Child) -> io::Result<()> {
    system::ask_to_end(child)
}

/// Processor time of all threads of the child so far, on Linux in steps of 10 ms; `None` if the system does not report
/// it.
pub fn cpu_time(child: &Child) -> Option<Duration> {
    system::cpu_time(child)
}

/// Resident memory of the child in bytes; `None` if the system does not report it.
pub fn memory(child: &Child) -> Option<u64> {
    system::memory(child)
}

/// Peak resident memory of the child in bytes; `None` if the system does not report it.
pub fn memory_peak(child: &Child) -> Option<u64> {
    system::memory_peak(child)
}

#[cfg(unix)]
mod system {
    use std::{fs, os::unix::process::CommandExt};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    pub fn set_apart(command: &mut Command) {
        command.process_group(0);
    }

    pub fn ask_to_end(child: &Child) -> io::Result<()> {
        // The child was not waited for: the process id is still its own.
        Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
    }

    pub fn cpu_time(child: &Child) -> Option<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        // The fields follow the name, which may hold anything; the 12th and 13th are user and system time.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 =
            fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
    }

    pub fn memory(child: &Child) -> Option<u64> {
        status(child, "VmRSS:")
    }

    pub fn memory_peak(child: &Child) -> Option<u64> {
        status(child, "VmHWM:")
    }

    fn status(child: &Child, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(1024 * value.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
    }
}

#[cfg(windows)]
mod system {
    use std::os::windows::{io::AsRawHandle, process::CommandExt};

    use windows_sys::Win32::{
        Foundation::FILETIME,
        System::{
            Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent},
            Threading::{CREATE_NEW_PROCESS_GROUP, GetProcessTimes},
        },
    };

    use super::*;
    use crate::os::process::system::memory_counters;

    pub fn set_apart(command: &mut Command) {
        // Such a group receives Ctrl-Break and not Ctrl-C.
        command.creation_flags(CREATE_NEW_PROCESS_GROUP);
    }

    pub fn ask_to_end(child: &Child) -> io::Result<()> {
        // SAFETY: the call takes two numbers. The second names the group that the child leads, until it was waited for.
        let asked = unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, child.id()) };
        if asked == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub fn cpu_time(child: &Child) -> Option<Duration> {
        let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
        // SAFETY: the handle is valid while the child is borrowed, and the four times are written to.
        let told = unsafe {
            GetProcessTimes(child.as_raw_handle(), &mut created, &mut ended, &mut kernel, &mut user)
        };
        // In units of 100 ns.
        let units = |t: FILETIME| u64::from(t.dwHighDateTime) << 32 | u64::from(t.dwLowDateTime);
        (told != 0).then(|| Duration::from_nanos(100 * (units(kernel) + units(user))))
    }

    pub fn memory_peak(child: &Child) -> Option<u64> {
        Some(memory_counters(child.as_raw_handle())?.PeakWorkingSetSize as u64)
    }

    pub fn memory(child: &Child) -> Option<u64> {
        Some(memory_counters(child.as_raw_handle())?.WorkingSetSize as u64)
    }
}
