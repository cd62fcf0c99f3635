//! Machines of the simulation: their scenes, and the choice of a machine for the next scene.

use std::collections::BTreeSet;

/// All machines.
pub struct Fleet {
    servers: Vec<FleetServer>,
    places_each: u32,
    /// Servers that take new scenes and have free places: number of free places, and index. Allocation by counters
    /// takes the first: the fullest, so that empty machines can be removed.
    with_room: BTreeSet<(u32, u32)>,
}

struct FleetServer {
    state: State,
    /// Number of times that the server went away.
    incarnation: u32,
    scenes: Vec<u32>,
    /// Time at which the server has read all scenes that it was given to read, seconds.
    recovered_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// The server keeps its scenes and takes no new ones.
    Draining,
    Away,
}

impl Fleet {
    /// Creates a fleet with all machines up and empty.
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

    /// Number of machines, including those that are away.
    pub fn n_servers(&self) -> u32 {
        self.servers.len() as u32
    }

    /// Maximum scenes of each machine.
    pub fn places_each(&self) -> u32 {
        self.places_each
    }

    /// Returns the machine that takes the next scene; the caller adds it.
    pub fn place(&self) -> Option<u32> {
        self.with_room.first().map(|(_, server)| *server)
    }

    /// Adds a scene to a server.
    pub fn add(&mut self, server: u32, scene: u32) {
        let was_listed = self.with_room.remove(&self.room(server));
        debug_assert!(was_listed, "server {server} takes none");
        self.servers[server as usize].scenes.push(scene);
        self.list(server);
    }

    /// Removes a scene from a server.
    pub fn remove(&mut self, server: u32, scene: u32) {
        self.with_room.remove(&self.room(server));
        let scenes = &mut self.servers[server as usize].scenes;
        let at = scenes.iter().position(|s| *s == scene).expect("it is there");
        scenes.swap_remove(at);
        self.list(server);
    }

    /// Returns one of the server's scenes.
    pub fn any_scene(&self, server: u32) -> Option<u32> {
        self.servers[server as usize].scenes.last().copied()
    }

    /// Marks the server as away and returns its scenes.
    pub fn take_down(&mut self, server: u32) -> Vec<u32> {
        self.with_room.remove(&self.room(server));
        let gone = &mut self.servers[server as usize];
        gone.state = State::Away;
        gone.incarnation += 1;
        std::mem::take(&mut gone.scenes)
    }

    /// Marks the server as up again, and empty.
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

    /// Stops the server from taking new scenes.
    pub fn close_to_new(&mut self, server: u32) {
        self.with_room.remove(&self.room(server));
        self.servers[server as usize].state = State::Draining;
    }

    /// Returns true if the server is up and takes new scenes.
    pub fn is_up(&self, server: u32) -> bool {
        self.servers[server as usize].state == State::Up
    }

    /// Returns the current incarnation of the server.
    pub fn incarnation(&self, server: u32) -> u32 {
        self.servers[server as usize].incarnation
    }

    /// Returns true if the server is still in that incarnation.
    pub fn is_same(&self, server: u32, incarnation: u32) -> bool {
        self.incarnation(server) == incarnation
    }

    /// Returns the time at which a server has read one more scene, from now on, after those that it was given before.
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
