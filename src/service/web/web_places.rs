//! Limit of the HTTP port's connections: there are few, and a connection without a live view gives way to a new one.
//!
//! A connection costs its peer nothing, and health and metrics need no key. With this rule silent, slow or non-reading
//! peers keep nobody out, whatever their number: a probe can always connect.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use parking_lot::Mutex;

use super::connection_use::ConnectionUse;
use crate::service::host::stream_table::WATCHERS_MAX;

/// Maximum connections: readers of metrics need few, and a browser opens up to six.
const CONNECTIONS_MAX: usize = 64;
/// Most connections are not live views, so that one can give way.
const _: () = assert!(2 * WATCHERS_MAX < CONNECTIONS_MAX);

/// Open connections of a port.
#[derive(Default)]
pub struct WebPlaces(Mutex<TakenPlaces>);

#[derive(Default)]
struct TakenPlaces {
    last_number: u64,
    /// Connections by number, so the oldest first.
    all: BTreeMap<u64, (IpAddr, Arc<ConnectionUse>)>,
}

/// Slot of a connection; released when dropped.
pub struct WebPlace {
    places: Arc<WebPlaces>,
    number: u64,
    /// Use of the connection; signals when it has to give way.
    pub used: Arc<ConnectionUse>,
}

impl WebPlaces {
    /// Takes a slot for a connection of `address`. If none is free, the oldest connection of the address with the most
    /// of them gives way; `None` if all are live views.
    pub fn take(self: &Arc<Self>, address: IpAddr) -> Option<WebPlace> {
        let mut open = self.0.lock();
        if open.all.len() >= CONNECTIONS_MAX {
            let number = open.first_to_go()?;
            open.all.remove(&number)?.1.give_way();
        }
        open.last_number += 1;
        let (number, used) = (open.last_number, Arc::new(ConnectionUse::default()));
        open.all.insert(number, (address, Arc::clone(&used)));
        Some(WebPlace { places: Arc::clone(self), number, used })
    }
}

impl TakenPlaces {
    fn first_to_go(&self) -> Option<u64> {
        let mut of_address: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
        for (number, (address, _)) in self.all.iter().filter(|(_, (_, used))| used.may_give_way()) {
            of_address.entry(*address).or_insert((0, *number)).0 += 1;
        }
        of_address.into_values().max_by_key(|(n, _)| *n).map(|(_, oldest)| oldest)
    }
}

impl Drop for WebPlace {
    fn drop(&mut self) {
        self.places.0.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use tokio::time::timeout;

    use super::{super::connection_use::tests::live_view, *};

    fn from(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    async fn has_to_go(place: &WebPlace) -> bool {
        timeout(Duration::ZERO, place.used.given_way()).await.is_ok()
    }

    #[tokio::test]
    async fn the_oldest_of_the_most_crowded_address_gives_way() {
        let places = Arc::new(WebPlaces::default());
        let probe = places.take(from(1)).expect("a place");
        let crowd = [(); CONNECTIONS_MAX - 1].map(|()| places.take(from(2)).expect("a place"));
        let view = crowd[0].used.begin().until_taken(live_view());
        let _second_probe = places.take(from(1)).expect("a place");
        assert!(!has_to_go(&probe).await && !has_to_go(&crowd[0]).await, "a live view stays");
        assert!(has_to_go(&crowd[1]).await && !has_to_go(&crowd[2]).await);
        // A released slot is free.
        drop(view);
        drop(crowd);
        let _others = [(); CONNECTIONS_MAX - 2].map(|()| places.take(from(2)).expect("a place"));
        assert!(!has_to_go(&probe).await);
    }

    #[test]
    fn live_views_do_not_give_way() {
        let places = Arc::new(WebPlaces::default());
        let views = [(); CONNECTIONS_MAX].map(|()| {
            let place = places.take(from(1)).expect("a place");
            let view = place.used.begin().until_taken(live_view());
            (place, view)
        });
        assert!(places.take(from(2)).is_none());
        drop(views);
        assert!(places.take(from(2)).is_some());
    }
}
