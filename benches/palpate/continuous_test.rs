//! P6: one continuous test of two features, over published queries with known answers, compared with the roots of the
//! cubic. `PALPATE_CCD` names another folder of queries.

use std::hint::black_box;

use palpate::{
    ccd::{Culled, FeatureVerdict, edge_edge, vertex_face},
    geometry::Dop16,
    oracle::ccd_queries::{CcdQuery, QueryKind, query_folder, read_queries},
};

use crate::{
    cubic,
    run::{Case, Run},
    turns::Effort,
};

/// Prints a line for each kind of query and one for all.
pub fn run(run: &mut Run) {
    let Some(folder) = query_folder() else { return run.leave_out("P6") };
    let files = read_queries(&folder).expect("query files");
    let mut all: Vec<CcdQuery> = files.into_iter().flat_map(|f| f.queries).collect();
    if run.effort == Effort::Smoke {
        all = all.into_iter().step_by(10).collect();
    }
    let of = |kind: QueryKind| -> Vec<CcdQuery> {
        all.iter().filter(|q| q.kind == kind).cloned().collect()
    };
    measure(run, "vertex-face", &of(QueryKind::VertexFace));
    measure(run, "edge-edge", &of(QueryKind::EdgeEdge));
    measure(run, "all", &all);
}

fn ours(q: &CcdQuery) -> FeatureVerdict {
    match q.kind {
        QueryKind::VertexFace => vertex_face(&q.t0, &q.t1, 0.0),
        QueryKind::EdgeEdge => edge_edge(&q.t0, &q.t1, 0.0),
    }
}

fn peers(q: &CcdQuery) -> Option<f64> {
    match q.kind {
        QueryKind::VertexFace => cubic::vertex_face(&q.t0, &q.t1),
        QueryKind::EdgeEdge => cubic::edge_edge(&q.t0, &q.t1),
    }
}

fn measure(run: &mut Run, case: &str, queries: &[CcdQuery]) {
    if queries.is_empty() {
        eprintln!("P6 case={case}: no such query");
        return;
    }
    let tally = Tally::of(queries);
    assert_eq!(tally.false_negatives, 0, "{case}: contacts are missed");
    let each = |test: fn(&CcdQuery)| move || queries.iter().for_each(|q| test(black_box(q)));
    run.compare(
        &Case { measure: "P6", case, peer: "plain-cubic", items: queries.len() },
        tally.toi_sum,
        &tally,
        each(|q| {
            black_box(ours(q));
        }),
        each(|q| {
            black_box(peers(q));
        }),
    );
}

/// Answers compared with the truth, and culls of each filter.
#[derive(Default)]
struct Tally {
    queries: usize,
    false_negatives: usize,
    false_positives: usize,
    peer_false_negatives: usize,
    peer_false_positives: usize,
    /// Counts in the order of [`Culled`].
    culled: [usize; 4],
    dop_apart: usize,
    toi_sum: f64,
}

impl Tally {
    fn of(queries: &[CcdQuery]) -> Tally {
        let mut tally = Tally { queries: queries.len(), ..Tally::default() };
        for q in queries {
            let (ours, peers) = (ours(q), peers(q));
            tally.false_negatives += usize::from(q.touches && ours.toi().is_none());
            tally.false_positives += usize::from(!q.touches && ours.toi().is_some());
            tally.peer_false_negatives += usize::from(q.touches && peers.is_none());
            tally.peer_false_positives += usize::from(!q.touches && peers.is_some());
            tally.toi_sum += ours.toi().unwrap_or(0.0);
            tally.dop_apart += usize::from(dops_are_apart(q));
            if let FeatureVerdict::Apart(by) = ours {
                tally.culled[match by {
                    Culled::Axis => 0,
                    Culled::Coplanarity => 1,
                    Culled::NonCollinear => 2,
                    Culled::Subdivision => 3,
                }] += 1;
            }
        }
        tally
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = |n: usize| 100.0 * n as f64 / self.queries as f64;
        let [axis, coplanarity, non_collinear, subdivision] = self.culled.map(share);
        write!(
            f,
            "queries={} false_negatives={} false_positives={} peer_false_negatives={} \
             peer_false_positives={} culled_axis={axis:.1}% culled_coplanarity={coplanarity:.1}% \
             culled_noncollinear={non_collinear:.1}% culled_subdivision={subdivision:.1}% \
             dop16_would_cull={:.1}%",
            self.queries,
            self.false_negatives,
            self.false_positives,
            self.peer_false_negatives,
            self.peer_false_positives,
            share(self.dop_apart),
        )
    }
}

/// Returns true if the tree would cull the swept features.
fn dops_are_apart(q: &CcdQuery) -> bool {
    let n_first = if q.kind == QueryKind::VertexFace { 1 } else { 2 };
    let side =
        |range: std::ops::Range<usize>| Dop16::around(range.flat_map(|k| [q.t0[k], q.t1[k]]));
    !side(0..n_first).overlaps(&side(n_first..4))
}
