//! Streams that end while others begin.

use std::{sync::mpsc, thread};

use super::*;
use crate::service::host::scene_life::ServerLife;

/// Creates a session without a loop, and the lease of its stream.
fn session(sessions: &Arc<SessionRegistry>) -> (Arc<SessionSlot>, SessionLease) {
    let slot = Arc::new(SessionSlot {
        token: Token::default(),
        scene_id: "s".to_owned(),
        caller: Caller::ANYBODY,
        tools: Vec::new(),
        parked: AtomicCell::new(None),
        holder: AtomicU64::new(1),
        broke_off_ns: AtomicU64::new(0),
        last_pose_ns: AtomicU64::new(now_ns()),
        stale: AtomicBool::new(false),
        over: AtomicBool::new(false),
        subscription: ServerLife::default().subscribe(),
    });
    sessions.now.lock().insert(slot.token, Arc::clone(&slot));
    let lease = SessionLease { slot: Arc::clone(&slot), holder: 1, sessions: Arc::clone(sessions) };
    (slot, lease)
}

#[test]
fn a_stream_that_ends_while_another_resumes_its_session_does_not_have_it_wait() {
    let sessions = Arc::new(SessionRegistry::new(&config::SessionSettings::default()));
    let (slot, lease) = session(&sessions);
    let (ended, is_ended) = mpsc::channel();
    // Takes the lock, as a stream that resumes the session does.
    let now = sessions.now.lock();
    let ends = thread::spawn(move || {
        drop(lease);
        let _ = ended.send(());
    });
    is_ended.recv_timeout(Duration::from_millis(200)).expect_err("it waits for who resumes it");
    slot.holder.fetch_add(1, Relaxed);
    slot.broke_off_ns.store(0, Relaxed);
    drop(now);
    ends.join().expect("no panic");
    assert!(!slot.is_waiting());
}
