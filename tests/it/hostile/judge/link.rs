//! Signed distance of a link: the separation or the depth that brute force finds.

use glam::DVec3;
use palpate::proto::{FlagMask, LinkAnswer, Vec3};

use super::{Broken, Judge, Place, ROUNDING_M, Seen, Soup, has};

/// Number of vertices of a link that are sampled, and of triangles of a tissue around it.
const SAMPLES: usize = 24;

/// Depths found by samples of a link and a tissue.
pub(super) struct Samples {
    /// Depth of a link vertex that is certainly in the tissue, metres; 0 if there is none.
    pub(super) vertex_depth: f64,
    /// Depth of a point of the tissue in the link.
    tissue_depth: f64,
}

fn dvec(v: Option<Vec3>) -> DVec3 {
    v.map_or(DVec3::NAN, |v| DVec3::new(v.x, v.y, v.z))
}

impl Judge<'_> {
    pub(super) fn judge_link(&mut self, told: &LinkAnswer, flags: u32, seen: &[Seen], link: &Soup) {
        self.tally.cut_short += usize::from(told.is_cut_short);
        let is_flagged = !told.is_cut_short || has(flags, FlagMask::Degraded);
        self.tally
            .hold(is_flagged, Broken::Bound, || format!("{}: cut short unflagged", self.about));
        let samples: Vec<Samples> = seen.iter().map(|s| self.samples(link, &s.soup)).collect();
        let deepest =
            samples.iter().map(|s| s.vertex_depth.max(s.tissue_depth)).fold(0.0, f64::max);
        let reach = self.report.max_distance_m + ROUNDING_M;
        let apart = seen.iter().map(|s| link.gap_to(&s.soup, reach)).fold(f64::INFINITY, f64::min);
        let got = told.signed_distance_m;
        let about = format!("{}, link {}", self.about, told.link);
        if told.is_cut_short {
            self.judge_bounds(told, apart, deepest, &about);
        } else if told.is_lower_bound {
            self.tally.bounds += 1;
            let is_asked = got >= self.report.max_distance_m - ROUNDING_M;
            let holds = apart >= got - ROUNDING_M && deepest == 0.0;
            self.tally.hold(holds && is_asked, Broken::Bound, || {
                format!("{about}: beyond {got}, in truth {apart} apart, {deepest} deep")
            });
        } else if got > 0.0 {
            self.tally.distances += 1;
            self.tally.hold((got - apart).abs() <= ROUNDING_M, Broken::Distance, || {
                format!("{about}: {got} apart, in truth {apart}, {deepest} deep")
            });
        }
        if !told.is_lower_bound {
            self.judge_ends(told, seen, link, &about);
            self.judge_depth(told, deepest, &about);
        }
        self.judge_contacts(told, flags, seen, link, &samples, &about);
    }

    /// Checks that nothing is nearer or deeper than the bound of a link that was cut short.
    fn judge_bounds(&mut self, told: &LinkAnswer, apart: f64, deepest: f64, about: &str) {
        self.tally.bounds += 1;
        let bound = told.lower_bound_m.unwrap_or(f64::INFINITY);
        let truth = if deepest > 0.0 { -deepest } else { apart };
        let is_between = told.is_lower_bound || bound <= told.signed_distance_m + ROUNDING_M;
        self.tally.hold(bound <= truth + ROUNDING_M && is_between, Broken::Bound, || {
            format!("{about}: at least {bound}, in truth {truth}")
        });
        let got = told.signed_distance_m;
        let is_one_of_all = told.is_lower_bound || got <= 0.0 || got >= apart - ROUNDING_M;
        self.tally.hold(is_one_of_all, Broken::Distance, || {
            format!("{about}: {got} of those found, in truth {apart}")
        });
    }

    /// Checks that the link is as deep as the samples, or that the answer bounds the depth.
    fn judge_depth(&mut self, told: &LinkAnswer, deepest: f64, about: &str) {
        if told.is_cut_short || deepest == 0.0 {
            return;
        }
        self.tally.depths += 1;
        self.tally.depths_flagged += usize::from(told.depth_max_m.is_some());
        let tolerance = self.tool.links[told.link as usize].tolerance_m;
        let got = -told.signed_distance_m;
        let is_uncertain = told.sign_certainty < 0.5;
        let most = told.depth_max_m.unwrap_or(got + 2.0 * tolerance) + ROUNDING_M;
        let broken = if got < 0.0 { Broken::Sign } else { Broken::Depth };
        self.tally.hold(deepest <= most || is_uncertain && got < 0.0, broken, || {
            format!("{about}: {got} deep, at most {:?}, in truth {deepest}", told.depth_max_m)
        });
    }

    /// Checks that both points are on their triangles, as far from the other surface as reported, and on the reported
    /// side.
    fn judge_ends(&mut self, told: &LinkAnswer, seen: &[Seen], link: &Soup, about: &str) {
        let Some(tissue) = seen.iter().find(|s| s.id == told.tissue_id) else {
            return self.tally.find(Broken::Untrue, format!("{about}: no tissue"));
        };
        let (on_tissue, on_tool) =
            (told.on_tissue.unwrap_or_default(), told.on_tool.unwrap_or_default());
        let [p, q] = [&on_tissue, &on_tool].map(|s| dvec(s.position_m));
        let got = told.signed_distance_m;
        let off = |s: &palpate::proto::SurfacePoint, soup: &Soup, p: DVec3| {
            let w = dvec(s.barycentric);
            let t = soup.get(s.triangle_id);
            t.map_or(f64::INFINITY, |t| p.distance(t[0] * w.x + t[1] * w.y + t[2] * w.z))
        };
        let off = off(&on_tissue, &tissue.soup, p).max(off(&on_tool, link, q));
        let normal = dvec(told.normal);
        let along = (q - p).distance(normal * got);
        let is_true =
            off <= ROUNDING_M && along <= ROUNDING_M && (normal.length() - 1.0).abs() < 1e-6;
        self.tally.hold(is_true, Broken::Untrue, || {
            format!("{about}: {got}, points {off} off, {along} off the normal {normal}")
        });
        if got >= 0.0 {
            return;
        }
        let (in_link, in_tissue) = (Place::of(p, link), Place::of(q, &tissue.soup));
        let is_in = |place: Place, soup: &Soup| {
            (place.distance + got).abs() <= ROUNDING_M
                && (place.is_inside() || place.is_in_doubt(soup.is_closed))
        };
        let is_so = is_in(in_link, link) || is_in(in_tissue, &tissue.soup);
        self.tally.hold(is_so || told.sign_certainty < 0.5, Broken::Sign, || {
            format!("{about}: {got} inside, at {p} {in_link:?}, at {q} {in_tissue:?}")
        });
    }

    fn samples(&mut self, link: &Soup, tissue: &Soup) -> Samples {
        let mut vertex_depth = 0.0f64;
        for _ in 0..SAMPLES {
            let p = self.any_point(link, 0);
            if tissue.bounds.distance(p) == 0.0 {
                vertex_depth = vertex_depth.max(Place::of(p, tissue).depth(tissue.is_closed));
            }
        }
        let mut tissue_depth = 0.0f64;
        let near: Vec<_> = tissue
            .triangles
            .iter()
            .filter(|(_, t)| t.iter().any(|p| link.bounds.distance(*p) == 0.0))
            .collect();
        for _ in 0..SAMPLES.min(near.len()) {
            let [a, b, c] = near[self.random.below(near.len())].1;
            let p = self.weighed(a, b, c);
            tissue_depth = tissue_depth.max(Place::of(p, link).depth(link.is_closed));
        }
        Samples { vertex_depth, tissue_depth }
    }

    fn any_point(&mut self, soup: &Soup, corner: usize) -> DVec3 {
        let (_, triangle) = &soup.triangles[self.random.below(soup.triangles.len())];
        triangle[corner]
    }

    /// Returns a corner, or a random point of the triangle.
    pub(super) fn weighed(&mut self, a: DVec3, b: DVec3, c: DVec3) -> DVec3 {
        if self.random.below(3) == 0 {
            return a;
        }
        let (u, v) = (self.random.f64(), self.random.f64());
        let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
        a + (b - a) * u + (c - a) * v
    }
}
