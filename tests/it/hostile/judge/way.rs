//! Path between two answers: a triangle crossed at some instant is reported, and with no later time.

use std::{collections::HashMap, collections::HashSet, sync::Arc};

use glam::DVec3;
use palpate::proto::{FlagMask, LinkAnswer, UnsweptReason};

use super::{Broken, Judge, ROUNDING_M, Revision, Seen, Soup, Told, has};
use crate::hostile::{instruments::Posture, soup::Extent};

/// Instants checked on the path from a pose to the next.
const INSTANTS: usize = 12;
/// Times are rounded to `f32`.
const TIME_ROUNDING: f64 = 1e-6;

/// Path since the last answer whose path is known to be swept.
#[derive(Default)]
pub struct Way {
    /// Postures from that answer on; empty if the path has no start.
    waypoints: Vec<Posture>,
    /// Tissues at the start of the path.
    start: Vec<(Revision, Arc<Soup>)>,
    /// Link, tissue and triangle of every contact touched since then, that start included.
    touched: HashSet<(u32, u32, u32)>,
    /// Contacts that touched, by id, until an answer reports their end: an answer that was cut short does not give all
    /// that it knows.
    live: HashMap<u64, (u32, u32, u32)>,
    /// An answer left something out, or the path begins where a tool was teleported in a tick without an answer.
    is_broken: bool,
    /// The answer at the start was cut short: contacts may exist that it did not give.
    start_is_cut: bool,
}

impl Way {
    /// Adds a tick that will be answered, alone or coalesced.
    pub fn pass(&mut self, waypoint: &Posture) {
        // The path restarts here, but no answer reports the tissues at this time.
        if waypoint.teleport && self.waypoints.len() <= 1 {
            self.waypoints.clear();
            self.is_broken = true;
        }
        self.waypoints.push(waypoint.clone());
    }

    fn begin(&mut self, told: &Told, seen: &[Seen]) {
        self.waypoints.drain(..self.waypoints.len() - 1);
        self.start = seen.iter().map(|s| (s.revision, Arc::clone(&s.soup))).collect();
        self.touched.clear();
        self.is_broken = false;
        self.start_is_cut = told.links.iter().any(|l| l.is_cut_short);
        self.note(told);
        self.touched.extend(self.live.values());
    }

    fn note(&mut self, told: &Told) {
        self.is_broken |= told.links.iter().any(is_truncated);
        for answer in told.links {
            answer.ended_contact_ids.iter().for_each(|id| _ = self.live.remove(id));
            let Some(c) = &answer.contacts else { continue };
            for i in 0..c.triangle_ids.len() {
                let touches = f64::from(c.signed_distance_m[i]) <= ROUNDING_M || c.toi[i] >= 0.0;
                if touches {
                    let what = (answer.link, c.tissue_ids[i], c.triangle_ids[i]);
                    self.touched.insert(what);
                    self.live.insert(c.contact_ids[i], what);
                }
            }
        }
    }
}

fn is_truncated(answer: &LinkAnswer) -> bool {
    answer.contacts.as_ref().is_some_and(|c| c.total as usize > c.triangle_ids.len())
}

/// Motion of a tissue along the path.
enum Motion {
    None,
    /// Straight, in one deformation, while the tool went from one pose to the next.
    Straight,
}

impl Judge<'_> {
    /// Judges an answer at the end of the path; `way` then restarts there if the path was swept.
    pub fn judge_way(&mut self, told: &Told, seen: &[Seen], way: &mut Way) {
        let is_swept = has(told.flags, FlagMask::Swept);
        let is_put = way.waypoints.last().is_some_and(|w| w.teleport);
        self.tally.hold(!(is_swept && is_put), Broken::Untrue, || {
            format!("{}: swept a leap", self.about)
        });
        let is_given = !way.is_broken && !told.links.iter().any(is_truncated);
        let is_judged = is_given && way.start.len() == seen.len();
        self.tally.ways_left_out += usize::from(is_swept && !is_judged);
        let n_ticks = way.waypoints.len() - 1;
        if is_swept && is_judged && n_ticks > 0 {
            self.tally.swept += 1;
            for (i, tissue) in seen.iter().enumerate() {
                let (revision, before) = &way.start[i];
                let motion = match (tissue.revision.0 - revision.0, tissue.revision.1 - revision.1)
                {
                    (0, 0) => Motion::None,
                    (1, 0) if n_ticks == 1 => Motion::Straight,
                    _ => continue,
                };
                self.tally.swept_while_moving += usize::from(matches!(motion, Motion::Straight));
                for answer in told.links {
                    self.judge_crossed(answer, tissue, before, way);
                }
            }
        }
        let is_begun = told.unswept_reason == UnsweptReason::Teleport as i32;
        if is_swept || is_begun || way.start.is_empty() {
            way.begin(told, seen);
        } else {
            way.note(told);
        }
    }

    fn judge_crossed(&mut self, told: &LinkAnswer, tissue: &Seen, before: &Soup, way: &Way) {
        let toi: HashMap<u32, f64> = told
            .contacts
            .iter()
            .flat_map(|c| {
                let of_tissue = c.tissue_ids.iter().map(|t| *t == tissue.id);
                let entries =
                    c.triangle_ids.iter().zip(&c.toi).map(|(t, toi)| (*t, f64::from(*toi)));
                of_tissue.zip(entries).filter(|(is, _)| *is).map(|(_, entry)| entry)
            })
            .collect();
        let mut crossed = HashSet::new();
        let segments = way.waypoints.windows(2);
        let at = |waypoint: Option<&Posture>| {
            let place = waypoint.expect("a way").scene_from_link(told.link as usize);
            self.tool.soup(told.link as usize, &place)
        };
        let (start, end) = (at(way.waypoints.first()), at(way.waypoints.last()));
        let puts: Vec<Soup> =
            way.waypoints[1..].iter().filter(|w| w.teleport).map(|w| at(Some(w))).collect();
        let was_there = |old: &[DVec3; 3], new: &[DVec3; 3]| {
            start.is_crossed_by(old) || puts.iter().any(|put| put.is_crossed_by(new))
        };
        // A triangle crossed at both ends may be missing if both answers were cut short: the first owed it, the second
        // still does.
        let is_owed = |old: &[DVec3; 3], new: &[DVec3; 3]| {
            let is_cut = way.start_is_cut && told.is_cut_short;
            is_cut && start.is_crossed_by(old) && end.is_crossed_by(new)
        };
        let n = segments.len() * INSTANTS;
        for k in 1..=n {
            let time = k as f64 / n as f64;
            let segment = &way.waypoints[(k - 1) / INSTANTS..];
            if segment[1].teleport {
                continue;
            }
            let share = ((k - 1) % INSTANTS + 1) as f64 / INSTANTS as f64;
            let [from, to] = [0, 1].map(|i| segment[i].scene_from_link(told.link as usize));
            let link = self.tool.soup(told.link as usize, &from.towards(&to, share));
            for ((id, new), (_, old)) in tissue.soup.triangles.iter().zip(&before.triangles) {
                let triangle: [DVec3; 3] = std::array::from_fn(|i| old[i].lerp(new[i], time));
                let is_near = Extent::of(triangle).gap(&link.bounds) == 0.0;
                if !is_near || crossed.contains(id) || !link.is_crossed_by(&triangle) {
                    continue;
                }
                crossed.insert(*id);
                self.tally.met += 1;
                let was_touched = way.touched.contains(&(told.link, tissue.id, *id));
                let what = |broken: &str| {
                    format!(
                        "{}, link {}: {id} of {} {broken} at {time} of {} ticks, first {} m away, cut short {} {}",
                        self.about,
                        told.link,
                        tissue.id,
                        way.waypoints.len() - 1,
                        start.gap(old, f64::INFINITY),
                        way.start_is_cut,
                        told.is_cut_short,
                    )
                };
                match toi.get(id) {
                    _ if was_touched => {}
                    None if is_owed(old, new) => {}
                    None => {
                        let what = what("crossed and not told");
                        self.tally.find(Broken::Missed, what);
                    }
                    // The triangle was touched at the start of the path, or where the tool was teleported to.
                    Some(toi) if *toi < 0.0 && was_there(old, new) => {}
                    Some(toi) if *toi < 0.0 || *toi > time + TIME_ROUNDING => {
                        let what = what(&format!("told at {toi}, crossed"));
                        self.tally.find(Broken::Late, what);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}
