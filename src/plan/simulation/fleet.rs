//! The machines: which scenes are where, and which machine takes the next.

use std::collections::BTreeSet;

/// All machines.
pub struct Fleet {
    servers: Vec<FleetServer>,
    places_each: u32,
    /// Those that take new scenes and have room: free places and number. Allocation by counters takes the first: the
    /// fullest, so that empty ones can be taken away.
    with_room: BTreeSet<(u32, u32)>,
}

struct FleetServer {
    state: State,
    /// Counts how often it went away.
    incarnation: u32,
    scenes: Vec<u32>,
    /// When it has read all scenes that it was given to read.
    recovered_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// It keeps its scenes and takes no new ones.
    Draining,
    Away,
}

impl Fleet {
    /// All there and empty.
    pub fn new(machines: u64, places_each: u64) -> Fleet {
        let (machines, places_each) = (machines as u32, places_each as u32);
        let one = |_| FleetServer {
            state: State::Up,
            incarnation: 0,
            scenes: Vec::new(),
            recovered_s: 0.0,
        };
        Fleet {
            servers: (0..machines).map(one).collect(),
            places_each,
            with_room: (0..machines).map(|server| (places_each, server)).collect(),
        }
    }

    /// Machines, those that are away included.
    pub fn n_servers(&self) -> u32 {
        self.servers.len() as u32
    }

    /// Scenes that each carries.
    pub fn places_each(&self) -> u32 {
        self.places_each
    }

    /// Which machine takes the next scene; the caller adds it.
    pub fn place(&self) -> Option<u32> {
        self.with_room.first().map(|(_, server)| *server)
    }

    /// Gives a server a scene.
    pub fn add(&mut self, server: u32, scene: u32) {
        let was_listed = self.with_room.remove(&self.room(server));
        debug_assert!(was_listed, "server {server} takes none");
        self.servers[server as usize].scenes.push(scene);
        self.list(server);
    }

    /// Takes a scene from it.
    pub fn remove(&mut self, server: u32, scene: u32) {
        self.with_room.remove(&self.room(server));
        let scenes = &mut self.servers[server as usize].scenes;
        let at = scenes.iter().position(|s| *s == scene).expect("it is there");
        scenes.swap_remove(at);
        self.list(server);
    }

    /// One of its scenes.
    pub fn any_scene(&self, server: u32) -> Option<u32> {
        self.servers[server as usize].scenes.last().copied()
    }

    /// It is away from now on; its scenes are given.
    pub fn take_down(&mut self, server: u32) -> Vec<u32> {
        self.with_room.remove(&self.room(server));
        let gone = &mut self.servers[server as usize];
        gone.state = State::Away;
        gone.incarnation += 1;
        std::mem::take(&mut gone.scenes)
    }

    /// It is there again, and empty.
    pub fn bring_up(&mut self, server: u32) {
        let back = &mut self.servers[server as usize];
        debug_assert!(
            back.state == State::Away && back.scenes.is_empty(),
            "server {server} is there"
        );
        back.state = State::Up;
        back.recovered_s = 0.0;
        self.list(server);
    }

    /// It takes no new scenes from now on.
    pub fn close_to_new(&mut self, server: u32) {
        self.with_room.remove(&self.room(server));
        self.servers[server as usize].state = State::Draining;
    }

    /// Whether it is there and takes new scenes.
    pub fn is_up(&self, server: u32) -> bool {
        self.servers[server as usize].state == State::Up
    }

    /// Which of its lives it is in.
    pub fn incarnation(&self, server: u32) -> u32 {
        self.servers[server as usize].incarnation
    }

    /// Whether it is still in that one.
    pub fn is_same(&self, server: u32, incarnation: u32) -> bool {
        self.incarnation(server) == incarnation
    }

    /// When a server has read one more scene, from now on, after those that it was given before.
    pub fn recovered_s(&mut self, server: u32, now_s: f64, takes_s: f64) -> f64 {
        let recovered_s = &mut self.servers[server as usize].recovered_s;
        *recovered_s = recovered_s.max(now_s) + takes_s;
        *recovered_s
    }

    fn room(&self, server: u32) -> (u32, u32) {
        (self.places_each - self.servers[server as usize].scenes.len() as u32, server)
    }

    fn list(&mut self, server: u32) {
        let room = self.room(server);
        if room.0 > 0 && self.is_up(server) {
            self.with_room.insert(room);
        }
    }
}
