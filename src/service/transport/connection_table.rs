//! Table of all connections: limits of their number, in total and per address, and closing of overdue ones.
//!
//! A connection costs its peer nothing until one of its calls is let in. So connections without such a call give way if
//! the table is full, and are closed after a time: 256 of them lock nobody out, from one address or from many.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tracing::debug;

use super::{
    connection_life::{ConnectionLife, Overdue, Patience},
    newcomer_turns::NewcomerTurns,
};
use crate::config::TransportSettings;
use crate::service::{clock::now_ns, metrics::Metrics};

/// Connections of a server.
pub struct ConnectionTable {
    connections_max: usize,
    per_address_max: usize,
    patience: Patience,
    /// Turns of the connections without an admitted call.
    turns: NewcomerTurns,
    open: Mutex<OpenConnections>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct OpenConnections {
    last_number: u64,
    /// Connections by number, so the oldest first.
    all: BTreeMap<u64, OpenConnection>,
}

struct OpenConnection {
    /// Address of the peer; `None`: a Unix socket.
    address: Option<IpAddr>,
    life: Arc<ConnectionLife>,
}

/// Entry of a connection in the table; removed when dropped.
pub struct ConnectionPlace {
    table: Arc<ConnectionTable>,
    number: u64,
    /// State of the connection, through which it is closed.
    pub life: Arc<ConnectionLife>,
}

/// The table is full, and no connection gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// Limit of all connections.
    #[error("there are {0} connections already, the limit")]
    Server(usize),
    /// Limit of the connections of an address.
    #[error("there are {0} connections of its address already, the limit")]
    Address(usize),
}

/// Longest interval of checks for overdue connections.
const WATCH_INTERVAL_MAX: Duration = Duration::from_secs(1);
const WATCH_INTERVAL_MIN: Duration = Duration::from_millis(10);

impl ConnectionTable {
    /// Creates an empty table.
    pub fn new(transport: &TransportSettings, metrics: &Arc<Metrics>) -> ConnectionTable {
        ConnectionTable {
            connections_max: transport.connections_max,
            per_address_max: transport.connections_per_address_max,
            patience: Patience {
                first_call: transport.first_call_max,
                headers: transport.preface_max,
                unread: transport.unread_max,
            },
            turns: NewcomerTurns::default(),
            open: Mutex::default(),
            metrics: Arc::clone(metrics),
        }
    }

    /// Admits a connection; a connection without an admitted call may be closed for it.
    ///
    /// # Errors
    /// Returns an error if the table is full and no connection gives way.
    pub fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Result<ConnectionPlace, NoRoom> {
        let mut open = self.open.lock();
        let of_address = |c: &&OpenConnection| c.address == address;
        if address.is_some() && open.all.values().filter(of_address).count() >= self.per_address_max
        {
            let oldest = open.oldest_silent(|c| c.address == address);
            self.make_room(&mut open, oldest.ok_or(NoRoom::Address(self.per_address_max))?);
        }
        if open.all.len() >= self.connections_max {
            let crowded = open.most_silent_address();
            let oldest = crowded.and_then(|a| open.oldest_silent(|c| c.address == a));
            self.make_room(&mut open, oldest.ok_or(NoRoom::Server(self.connections_max))?);
        }
        open.last_number += 1;
        let (number, life) = (open.last_number, Arc::new(ConnectionLife::begin()));
        open.all.insert(number, OpenConnection { address, life: Arc::clone(&life) });
        self.metrics.connections.store(open.all.len() as u64, Relaxed);
        Ok(ConnectionPlace { table: Arc::clone(self), number, life })
    }

    /// Closes overdue connections. Never ends.
    pub async fn watch(&self) {
        let Patience { first_call, headers, unread } = self.patience;
        let shortest = first_call.min(headers).min(unread) / 4;
        let mut due = interval(shortest.clamp(WATCH_INTERVAL_MIN, WATCH_INTERVAL_MAX));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            let mut open = self.open.lock();
            let now_ns = now_ns();
            let overdue: Vec<_> = open
                .all
                .iter()
                .filter_map(|(n, c)| Some((*n, c.life.overdue(now_ns, &self.patience)?)))
                .collect();
            overdue.into_iter().for_each(|(n, why)| self.close(&mut open, n, why));
        }
    }

    fn make_room(&self, open: &mut OpenConnections, number: u64) {
        self.close(open, number, Overdue::MadeRoom);
    }

    fn close(&self, open: &mut OpenConnections, number: u64, why: Overdue) {
        // The entry is free at once, before the connection's task notices.
        let Some(closed) = open.all.remove(&number) else { return };
        debug!(address = ?closed.address, "a connection was closed: {why:?}");
        closed.life.close();
        self.metrics.connections.store(open.all.len() as u64, Relaxed);
        self.metrics.connections_closed[why as usize].fetch_add(1, Relaxed);
    }
}

impl OpenConnections {
    /// Returns the number of the first `wanted` connection without an admitted call; preferably one whose call was
    /// refused, else one that was read and made no call: a connection that has just come has not had its turn yet.
    fn oldest_silent(&self, wanted: impl Fn(&OpenConnection) -> bool) -> Option<u64> {
        let silent = |(_, c): &(&u64, &OpenConnection)| !c.life.is_authorised() && wanted(c);
        let silent = || self.all.iter().filter(silent);
        let refused = silent().find(|(_, c)| c.life.is_refused());
        let heard = || silent().find(|(_, c)| c.life.was_heard());
        refused.or_else(heard).or_else(|| silent().next()).map(|(number, _)| *number)
    }

    /// Returns the address with the most connections without an admitted call: a client from another address that has
    /// not called yet stays.
    fn most_silent_address(&self) -> Option<Option<IpAddr>> {
        let mut counts = BTreeMap::new();
        for connection in self.all.values().filter(|c| !c.life.is_authorised()) {
            *counts.entry(connection.address).or_insert(0) += 1;
        }
        counts.into_iter().max_by_key(|(_, n)| *n).map(|(address, _)| address)
    }
}

impl ConnectionPlace {
    /// Turns that it shares with all connections without an admitted call.
    pub(super) fn turns(&self) -> &NewcomerTurns {
        &self.table.turns
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut open = self.table.open.lock();
        open.all.remove(&self.number);
        self.table.metrics.connections.store(open.all.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn table(connections_max: usize, connections_per_address_max: usize) -> Arc<ConnectionTable> {
        let transport = TransportSettings {
            connections_max,
            connections_per_address_max,
            ..TransportSettings::default()
        };
        let metrics = Arc::new(Metrics::new(Duration::from_millis(1)));
        Arc::new(ConnectionTable::new(&transport, &metrics))
    }

    fn from(last: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(10, 0, 0, last).into())
    }

    fn is_closed(place: &ConnectionPlace) -> bool {
        place.life.check_reader(std::task::Waker::noop()).is_err()
    }

    #[test]
    fn who_has_not_called_gives_way_the_most_crowded_address_first() {
        let table = table(6, 4);
        let admit = |last| table.admit(from(last)).expect("room");
        let early = admit(1);
        let crowd = [2, 2, 2, 2].map(admit);
        let other = admit(3);
        // The address is full: its own oldest connection is closed.
        let fifth = admit(2);
        assert!(is_closed(&crowd[0]) && !is_closed(&early));
        // The server is full: the oldest of the crowd is closed, not the oldest of all.
        let late = admit(4);
        assert!(is_closed(&crowd[1]) && !is_closed(&early) && !is_closed(&other));
        // A connection whose call was refused is closed before older ones of its address.
        crowd[3].life.note_refused();
        let sixth = admit(5);
        assert!(is_closed(&crowd[3]) && !is_closed(&crowd[2]));
        // Connections with an admitted call stay, whoever comes.
        for called in [&early, &other, &late, &crowd[2], &fifth, &sixth] {
            called.life.note_authorised();
        }
        assert_eq!(table.admit(from(5)).err(), Some(NoRoom::Server(6)));
        drop(other);
        let _room = admit(5);
        assert_eq!(table.metrics.connections.load(Relaxed), 6);
    }

    #[test]
    fn who_was_read_and_made_no_call_gives_way_before_who_was_not_read_yet() {
        let table = table(3, 3);
        let admit = || table.admit(from(1)).expect("room");
        let [waits, once, heard] = [(); 3].map(|()| admit());
        [&once, &heard, &heard].iter().for_each(|place| place.life.note_turn());
        let _late = admit();
        assert!(is_closed(&heard) && !is_closed(&waits) && !is_closed(&once));
        let _later = admit();
        assert!(is_closed(&waits) && !is_closed(&once), "none was read so often: the oldest");
    }

    #[test]
    fn an_address_has_its_own_limit_and_a_unix_socket_none() {
        let table = table(8, 2);
        let two = [(); 2].map(|()| table.admit(from(1)).expect("room"));
        two.iter().for_each(|place| place.life.note_authorised());
        assert_eq!(table.admit(from(1)).err(), Some(NoRoom::Address(2)));
        let _local = [(); 4].map(|()| table.admit(None).expect("room"));
        let _other = table.admit(from(2)).expect("room");
    }
}
