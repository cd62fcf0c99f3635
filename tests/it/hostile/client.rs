//! A client that deforms, cuts, moves, teleports and queries, and has each answer judged.

use glam::DVec3;
use palpate::{
    oracle::Random,
    proto::{
        DeformRequest, DeformResponse, DeleteSceneRequest, FlagMask, LinkTarget,
        QueryContactsRequest, QueryDistancesRequest, ReportOptions, Tick, TrackMode, TrackResponse,
        TrackStart, UnsweptReason, query_distances_request::Target,
    },
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    fault::Fault,
    instruments::{self, Instrument, Posture},
    judge::{Judge, Told, Way, judge_query},
    organs,
    placed::Placed,
    tally::Tally,
    tissue::{KnownTissue, Revision},
};
use crate::support::{
    meshes::wire,
    messages::{SCENE, start_message, tick_message, tissue_upload},
    server::{HandFed, TestServer},
};

/// Steps of an episode.
const STEPS: usize = 30;
/// Maximum number of ticks that are sent at once.
const BURST: usize = 8;
const MAX_CONTACTS: u32 = 1_024;

/// A scene, from its creation to its end.
pub struct Episode<'a> {
    server: &'a mut TestServer,
    tissues: Vec<KnownTissue>,
    tool: Instrument,
    report: ReportOptions,
    random: Random,
    about: String,
    ticks: HandFed,
    deforms: mpsc::Sender<DeformRequest>,
    deformed: Streaming<DeformResponse>,
    /// Tissues and revisions of deformations that wait for their answer, in order.
    asked: Vec<(usize, Revision)>,
    deform_sequence: u64,
    sequence: u64,
    posture: Posture,
    way: Way,
    fault: Option<Fault>,
}

impl<'a> Episode<'a> {
    /// Creates a random scene, whose kind `number` selects.
    pub async fn begin(server: &'a mut TestServer, number: u64, mut random: Random) -> Episode<'a> {
        server.create(SCENE).await.expect("a new scene");
        let mut tissues = Vec::new();
        let mut about = format!("episode {number}:");
        for i in 0..1 + random.below(2) {
            let kind = if i == 0 { number as usize } else { random.below(organs::KINDS) };
            let (name, data) = organs::organ(kind, &mut random);
            let upload = tissue_upload(&format!("tissue-{i}"), &wire(&data));
            let added = server.add_tissue(upload).await.expect("a good mesh");
            let report = added.report.expect("a report");
            assert_eq!(report.reversed_triangles, 0, "{name}: ids and corners stay as sent");
            tissues.push(KnownTissue::new(added.tissue_id, data));
            about += &format!(" {name}");
        }
        let kind = (number as usize / organs::KINDS + number as usize) % instruments::KINDS;
        let (name, mut tool) = Instrument::random(kind, &mut random);
        let added = server.add_tool(tool.upload(0.0)).await.expect("a good tool");
        tool.id = added.tool_id;
        for (link, field) in tool.links.iter_mut().zip(&added.fields) {
            link.tolerance_m = field.tolerance_m;
        }
        assert!(added.reports.iter().all(|r| r.reversed_triangles == 0), "{name}");
        about += &format!(", {name}");
        let max_distance_m = random.range(0.02, 0.3);
        let report = ReportOptions {
            max_distance_m,
            contact_margin_m: 10f64.powf(random.range(-4.0, -2.3)),
            max_contacts: MAX_CONTACTS,
            ..Default::default()
        };
        let mode = if random.below(2) == 0 { TrackMode::Latest } else { TrackMode::Every };
        let start = TrackStart {
            scene_id: SCENE.to_owned(),
            tool_ids: vec![tool.id],
            mode: mode as i32,
            report: Some(report),
            ..Default::default()
        };
        let ticks = server.hand_fed(start_message(start)).await;
        let (deforms, taken) = mpsc::channel(64);
        let deformed = server.scenes.deform(ReceiverStream::new(taken)).await.expect("a stream");
        let posture = tool.posture(Placed::REST, &mut random);
        Episode {
            server,
            tissues,
            tool,
            report,
            random,
            about,
            ticks,
            deforms,
            deformed: deformed.into_inner(),
            asked: Vec::new(),
            deform_sequence: 0,
            sequence: 0,
            posture,
            way: Way::default(),
            fault: None,
        }
    }

    /// Puts this fault into all further answers to ticks.
    pub fn spoil(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// Runs all steps, or as many as it takes to find the fault put into its answers, and then deletes the scene.
    pub async fn run(mut self, tally: &mut Tally) {
        for _ in 0..STEPS {
            if self.fault.is_some_and(|fault| tally.has(fault.found_as())) {
                break;
            }
            if self.random.below(3) == 0 {
                self.deform(tally).await;
            }
            if self.random.below(12) == 0 {
                self.cut(tally).await;
            }
            match self.random.below(8) {
                0 => self.query_points(tally).await,
                1 => self.query_contacts(tally).await,
                _ => self.tick(tally).await,
            }
        }
        self.settle().await;
        let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
        self.server.scenes.delete_scene(delete).await.expect("its own");
    }

    /// Sends one to four deformations without waiting; ticks may see any of them until they are acknowledged.
    async fn deform(&mut self, tally: &mut Tally) {
        for _ in 0..1 + self.random.below(2) * self.random.below(4) {
            let i = self.random.below(self.tissues.len());
            self.deform_sequence += 1;
            let request = self.tissues[i].deform(self.deform_sequence, &mut self.random);
            self.asked.push((i, self.tissues[i].revision));
            self.deforms.send(request).await.expect("it is there");
            tally.revisions += 1;
        }
        if self.random.below(3) > 0 {
            self.settle().await;
        }
    }

    /// Waits for all answers to deformations.
    async fn settle(&mut self) {
        for (i, revision) in std::mem::take(&mut self.asked) {
            let answer = self.deformed.message().await.expect("good").expect("an answer");
            assert_eq!(answer.geometry_revision, revision.0, "{}", self.about);
            self.tissues[i].acknowledged = revision;
        }
    }

    async fn cut(&mut self, tally: &mut Tally) {
        // Revisions stay in order: a cut overtakes no deformation.
        self.settle().await;
        let i = self.random.below(self.tissues.len());
        let Some(edit) = self.tissues[i].cut(&mut self.random) else { return };
        let done = self.server.scenes.edit_topology(edit).await.expect("good").into_inner();
        let tissue = &mut self.tissues[i];
        assert_eq!(done.topology_revision, tissue.revision.1, "{}", self.about);
        tissue.acknowledged = tissue.revision;
        tally.revisions += 1;
    }

    fn acknowledged(&self) -> Vec<Revision> {
        self.tissues.iter().map(|t| t.acknowledged).collect()
    }

    /// Returns a posture near the surface of a tissue, in it, beyond it or a little further on.
    fn next_posture(&mut self) -> Posture {
        let random = &mut self.random;
        let tissue = &self.tissues[random.below(self.tissues.len())];
        let (target, normal) = tissue.on_surface(random);
        let link = &self.tool.links[random.below(self.tool.links.len())];
        let corner = link.mesh.positions[random.below(link.mesh.positions.len())].as_dvec3();
        let depth = 10f64.powf(random.range(-5.0, -1.5));
        let turn = random.rotation();
        let offset = [depth, -depth, 0.0, 5.0 * depth][random.below(4)];
        let mut tool = match random.below(6) {
            0..3 => self.posture.tool.nudged(target, 0.05, 3e-3, random),
            3 => self.posture.tool.nudged(target, 1.5, 0.05, random),
            _ => Placed { turn, at: target + normal * offset - turn * link.rest.point(corner) },
        };
        // Keeps the tool from drifting away for good.
        if tool.at.length() > 0.4 {
            tool.at = target;
        }
        let mut next = if random.below(3) == 0 {
            self.tool.posture(tool, random)
        } else {
            Posture { tool, ..self.posture.clone() }
        };
        next.teleport = random.below(12) == 0;
        next
    }

    /// Sends one tick, or several at once, and judges the answers.
    async fn tick(&mut self, tally: &mut Tally) {
        let n = if self.random.below(3) == 0 { 1 + self.random.below(BURST) } else { 1 };
        let asked = self.acknowledged();
        let mut sent = Vec::new();
        let rests = self.random.below(6) == 0;
        for _ in 0..n {
            self.sequence += 1;
            let next = self.next_posture();
            self.posture =
                if rests { Posture { teleport: false, ..self.posture.clone() } } else { next };
            let deadline_us = [0, 0, 0, 0, 0, 1, 60, 400][self.random.below(8)];
            let tools = vec![self.posture.wire(self.tool.id)];
            let tick = Tick { sequence: self.sequence, tools, deadline_us, ..Default::default() };
            self.ticks.requests.send(tick_message(tick)).await.expect("it is there");
            sent.push(self.posture.clone());
        }
        let first = self.sequence + 1 - n as u64;
        let mut passed = 0;
        while passed < n {
            let mut answer = self.ticks.answers.message().await.expect("good").expect("an answer");
            self.fault.into_iter().for_each(|fault| fault.spoil(&mut answer));
            let upto = (answer.sequence - first + 1) as usize;
            assert_eq!(answer.coalesced as usize, upto - passed - 1, "{}", self.about);
            sent[passed..upto].iter().for_each(|posture| self.way.pass(posture));
            passed = upto;
            self.judge_tick(&answer, &sent[upto - 1], &asked, tally);
        }
    }

    fn judge_tick(
        &mut self,
        answer: &TrackResponse,
        posture: &Posture,
        asked: &[Revision],
        tally: &mut Tally,
    ) {
        assert_eq!(answer.refusal, None, "{}", self.about);
        let told = Told {
            flags: answer.flags,
            unswept_reason: answer.unswept_reason,
            tissues: &answer.tissues,
            links: &answer.links,
            probes: &answer.probes,
        };
        let mut judge = Judge {
            tissues: &self.tissues,
            tool: &self.tool,
            report: &self.report,
            tally,
            random: &mut self.random,
            about: format!("{}, tick {}", self.about, answer.sequence),
        };
        let Some(seen) = judge.seen(told.tissues, asked) else { return };
        judge.judge(&told, &seen, posture);
        judge.judge_way(&told, &seen, &mut self.way);
    }

    async fn query_contacts(&mut self, tally: &mut Tally) {
        let posture = self.next_posture();
        let asked = self.acknowledged();
        let request = QueryContactsRequest {
            scene_id: SCENE.to_owned(),
            tool: Some(posture.wire(self.tool.id)),
            report: Some(self.report),
        };
        let answer = self.server.haptics.query_contacts(request).await.expect("good").into_inner();
        assert_eq!(answer.flags & FlagMask::Swept as u32, 0, "{}: there is no way", self.about);
        let told = Told {
            flags: answer.flags,
            unswept_reason: UnsweptReason::FirstTick as i32,
            tissues: &answer.tissues,
            links: &answer.links,
            probes: &answer.probes,
        };
        let mut judge = Judge {
            tissues: &self.tissues,
            tool: &self.tool,
            report: &self.report,
            tally,
            random: &mut self.random,
            about: format!("{}, query of contacts", self.about),
        };
        let Some(seen) = judge.seen(told.tissues, &asked) else { return };
        judge.judge(&told, &seen, &posture);
    }

    async fn query_points(&mut self, tally: &mut Tally) {
        let posture = self.next_posture();
        let random = &mut self.random;
        let target = random.below(3);
        let one = random.below(self.tissues.len());
        let link = random.below(self.tool.links.len());
        let max_distance_m = if random.below(2) == 0 { 0.0 } else { random.range(1e-3, 0.1) };
        let link_soup = self.tool.soup(link, &posture.scene_from_link(link));
        let extent = if target == 2 { link_soup.bounds } else { self.tissues[one].now().bounds };
        let size = extent.high - extent.low;
        let points: Vec<DVec3> = (0..40)
            .map(|i| match i % 2 {
                0 => random.point(extent.low - size * 0.2, extent.high + size * 0.2),
                _ => {
                    let (at, normal) = self.tissues[one].on_surface(random);
                    at + normal * random.range(-1.0, 1.0) * 10f64.powf(random.range(-6.0, -2.0))
                }
            })
            .collect();
        let asked = self.acknowledged();
        let tool = Some(posture.wire(self.tool.id));
        let request = QueryDistancesRequest {
            scene_id: SCENE.to_owned(),
            target: Some(match target {
                0 => Target::TissueId(self.tissues[one].id),
                1 => Target::AllTissues(true),
                _ => Target::Link(LinkTarget { link: link as u32, tool }),
            }),
            points_xyz_m: points.iter().flat_map(|p| p.to_array()).collect(),
            max_distance_m,
        };
        let answer = self.server.haptics.query_distances(request).await.expect("good").into_inner();
        let mut judge = Judge {
            tissues: &self.tissues,
            tool: &self.tool,
            report: &self.report,
            tally,
            random: &mut self.random,
            about: format!("{}, query of points", self.about),
        };
        let Some(seen) = judge.seen(&answer.tissues, &asked) else { return };
        let surfaces: Vec<_> = match target {
            0 => vec![(seen[one].id, &*seen[one].soup)],
            1 => seen.iter().map(|s| (s.id, &*s.soup)).collect(),
            _ => vec![(0, &link_soup)],
        };
        judge_query(&mut judge, &points, &surfaces, max_distance_m, &answer);
    }
}
