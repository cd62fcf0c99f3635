//! A run of the benchmarks: a line for each case, and the saved results.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    fs, io,
    path::PathBuf,
    process::Command,
};

use crate::turns::{Effort, Times, by_turns};

/// Largest relative difference of a checksum from the recorded one: sums of answers in another order or with another
/// `sin`.
const CHECKSUM_SLACK: f64 = 1e-6;

/// A case and its peer.
pub struct Case<'a> {
    /// Name of the measure in the targets.
    pub measure: &'static str,
    pub case: &'a str,
    pub peer: &'a str,
    /// Items that each contestant processes.
    pub items: usize,
}

/// A run of the benchmarks.
pub struct Run {
    pub effort: Effort,
    lines: Vec<String>,
    checksums: BTreeMap<String, f64>,
    left_out: Vec<&'static str>,
    pictures: Vec<(&'static str, String)>,
}

impl Run {
    pub fn new(effort: Effort) -> Run {
        Run {
            effort,
            lines: Vec::new(),
            checksums: BTreeMap::new(),
            left_out: Vec::new(),
            pictures: Vec::new(),
        }
    }

    /// Notes a measure whose input is missing.
    pub fn leave_out(&mut self, measure: &'static str) {
        self.left_out.push(measure);
    }

    /// Times both by turns and prints a line. The answers have been compared before; `checksum` is made of them.
    pub fn compare(
        &mut self,
        case: &Case,
        checksum: f64,
        more: impl Display,
        mut ours: impl FnMut(),
        mut peer: impl FnMut(),
    ) -> f64 {
        let [ours, peer] = by_turns(self.effort, case.items, [&mut ours, &mut peer]);
        let ratio = peer.p50 / ours.p50;
        let text = format!(
            "{} peer={} {} ratio={} {more}",
            Timed("ours", &ours),
            case.peer,
            Timed("peer", &peer),
            Figures(ratio)
        );
        self.line(case.measure, case.case, checksum, text);
        ours.p50
    }

    /// Prints a line of other measurements; the answers have been compared.
    pub fn line(&mut self, measure: &str, case: &str, checksum: f64, text: impl Display) {
        self.print(format!("{measure} case={case} {text} checksum={checksum:.9e} checked=yes"));
        self.checksums.insert(format!("{measure} {case}"), checksum);
    }

    /// Adds a picture that is saved with the lines.
    pub fn picture(&mut self, measure: &'static str, svg: String) {
        self.pictures.push((measure, svg));
    }

    fn print(&mut self, line: String) {
        println!("{line}");
        self.lines.push(line);
    }

    /// Compares the checksums with the recorded ones of the same cases.
    pub fn check(&self, measures: &[&'static str]) -> Result<(), String> {
        let text = fs::read_to_string(checksum_file()).map_err(|e| e.to_string())?;
        let mut recorded = BTreeMap::new();
        for line in text.lines() {
            let (case, checksum) = line.rsplit_once(' ').ok_or_else(|| format!("{line:?}?"))?;
            recorded.insert(case, checksum.parse::<f64>().map_err(|e| format!("{line:?}: {e}"))?);
        }
        for (case, got) in &self.checksums {
            let expected = *recorded.get(case.as_str()).ok_or(format!("{case} is not recorded"))?;
            if (got - expected).abs() > CHECKSUM_SLACK * expected.abs() {
                return Err(format!("{case}: the checksum is {got:e}, expected {expected:e}"));
            }
        }
        let ran = |case: &str| {
            let mut measured = measures.iter().filter(|m| !self.left_out.contains(m));
            measured.any(|m| case.starts_with(&format!("{m} ")))
        };
        match recorded.keys().find(|case| ran(case) && !self.checksums.contains_key(**case)) {
            Some(case) => Err(format!("{case} was not measured")),
            None => Ok(()),
        }
    }

    /// Writes the lines of a full run, or the checksums of a smoke run.
    pub fn save(&self, measures: &[&str]) -> io::Result<()> {
        let mut text = String::new();
        if self.effort == Effort::Smoke {
            for (case, checksum) in &self.checksums {
                text += &format!("{case} {checksum:.9e}\n");
            }
            return fs::write(checksum_file(), text);
        }
        let (date, commit) = (said(["date", "-u", "+%FT%H%M"])?, said(COMMIT)?);
        let cpu = fs::read_to_string("/proc/cpuinfo")?;
        let processor = cpu.lines().find(|l| l.starts_with("model name")).unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg")?;
        let cores = std::thread::available_parallelism()?;
        text += &format!("date {date}\ncommit {commit}\n{processor}\ncores {cores}\n");
        text += &format!("load average at the end {load}\n");
        self.lines.iter().for_each(|line| text += &format!("{line}\n"));
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/results");
        fs::create_dir_all(&folder)?;
        for (measure, svg) in &self.pictures {
            fs::write(folder.join(format!("{date}-{measure}.svg")), svg)?;
        }
        fs::write(folder.join(format!("{date}-{}.txt", measures.join("-"))), text)
    }
}

const COMMIT: [&str; 5] = ["git", "describe", "--always", "--dirty", "--exclude=*"];

fn said<const N: usize>(command: [&str; N]) -> io::Result<String> {
    let done = Command::new(command[0])
        .args(&command[1..])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

fn checksum_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/palpate/smoke.txt")
}

/// `ours_us=12.1 ours_range=11.8..13.0`
pub struct Timed<'a>(pub &'static str, pub &'a Times);

impl Display for Timed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timed(name, Times { p50, min, max }) = self;
        let [p50, min, max] = [p50, min, max].map(|us| Figures(*us));
        write!(f, "{name}_us={p50} {name}_range={min}..{max}")
    }
}

/// A number with four significant digits.
pub struct Figures(pub f64);

impl Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before_point = self.0.abs().log10().floor() as i32 + 1;
        write!(f, "{:.*}", (4 - before_point.clamp(-3, 4)) as usize, self.0)
    }
}
