//! Claims that end a lease and whose owner gets no answer whether they are stored.

use std::{fs, path::PathBuf, process, sync::Arc, time::Duration};

use super::{membership::Membership, opening::SceneOpener, renewal::renew, scene_lease::NewOwner};
use crate::{
    config::Config,
    os::lasting::injected::failing_syncs,
    service::{
        access::caller::Caller,
        host::{fields::Fields, scene_registry::SceneRegistry},
    },
    store::{
        lease::claim::{ClaimFrom, ClaimState, SceneClaim},
        scenes::scene_store::{LEASES, SceneStore},
    },
};

/// A server on a shared folder of this test.
struct Shared {
    registry: SceneRegistry,
    membership: Arc<Membership>,
    data_dir: PathBuf,
}

impl Shared {
    fn new(name: &str) -> Shared {
        let data_dir = std::env::temp_dir().join(format!("palpate-ends-{name}-{}", process::id()));
        // Left by an earlier process with the same number.
        let _ = fs::remove_dir_all(&data_dir);
        let registry = SceneRegistry::new(&Config::default());
        let store = SceneStore::open_shared(&data_dir).expect("a new store");
        registry.keep_in(store).expect("a thread");
        let (store, _) = registry.keeping().expect("set");
        let long = Duration::from_secs(3_600);
        let membership = Membership::join(store, "here:1".to_owned(), long).expect("room");
        let membership = Arc::new(membership);
        let opener = SceneOpener::new(
            &Fields::new(None, Duration::from_secs(9), registry.metrics()),
            &membership,
        );
        let open = move |registry: &SceneRegistry, id: &str, from| opener.open(registry, id, from);
        registry.share(Arc::clone(&membership));
        registry.open_by(Arc::new(open));
        Shared { registry, membership, data_dir }
    }

    fn claims(&self) -> PathBuf {
        self.data_dir.join(LEASES).join("scenes/s")
    }

    fn newest(&self) -> SceneClaim {
        self.membership.newest("s").expect("readable").expect("there")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // An error means that the folder is gone already.
        let _ = fs::remove_dir_all(&self.data_dir);
    }
}

#[test]
fn whoever_is_not_told_whether_its_end_is_there_answers_no_more_until_it_is() {
    let shared = Shared::new("lost");
    let host = shared.registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let lease = Arc::clone(host.lease().expect("shared"));
    // Nothing can be put there: it is certain that the claim is not stored.
    let aside = shared.data_dir.join("aside");
    fs::rename(shared.claims(), &aside).expect("there");
    fs::write(shared.claims(), "in the way").expect("room");
    lease.give_up(None).expect_err("it cannot be put");
    assert!(lease.answers(), "nobody else has it");
    fs::remove_file(shared.claims()).expect("there");
    fs::rename(aside, shared.claims()).expect("there");
    failing_syncs(&shared.claims(), 1);
    lease.give_up(None).expect_err("it cannot be made to last");
    assert_eq!(shared.newest(), SceneClaim { epoch: 2, state: ClaimState::Free });
    assert!(!lease.answers(), "another may answer by now");
    host.check_served().expect_err("nor does the scene");
    renew(&shared.registry, &shared.membership).expect("room");
    assert!(!shared.registry.has("s"), "it is nobody's");
    assert!(!lease.answers());
}

#[test]
fn a_scene_that_is_refused_leaves_no_claim() {
    let shared = Shared::new("refused");
    shared.registry.create("s", &Caller::ANYBODY).expect("room");
    for _ in 0..2 {
        assert!(shared.registry.create_durable("s", &Caller::ANYBODY).is_err(), "it is taken");
        assert_eq!(shared.membership.newest("s").expect("readable"), None);
    }
}

/// The claim is damaged, as if a bit had flipped on the disk.
#[test]
fn a_claim_that_cannot_be_read_refuses_its_scene_and_no_other() {
    let shared = Shared::new("damaged");
    let host = |id: &str| shared.registry.create_durable(id, &Caller::ANYBODY).expect("room");
    let (damaged, other) = (host("s"), host("t"));
    let claim = shared.claims().join("2");
    fs::write(&claim, "state = \"fre").expect("room");
    for _ in 0..2 {
        let before_ns = shared.membership.answers_until_ns();
        renew(&shared.registry, &shared.membership).expect("of one scene");
        assert!(shared.membership.answers_until_ns() > before_ns, "the lease is renewed");
        damaged.check_served().expect_err("it may be another's");
        other.check_served().expect("its claim is good");
    }
    fs::remove_file(claim).expect("there");
    renew(&shared.registry, &shared.membership).expect("room");
    damaged.check_served().expect("it is its own");
}

#[test]
fn an_end_that_did_not_come_is_put_again_after_the_next_sign_of_life() {
    let shared = Shared::new("again");
    let host = shared.registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let lease = Arc::clone(host.lease().expect("shared"));
    failing_syncs(&shared.claims(), 1);
    lease.give_up(None).expect_err("it cannot be made to last");
    // Simulates an end that is still on its way.
    fs::remove_file(shared.claims().join("2")).expect("there");
    assert!(!lease.answers(), "it may come");
    renew(&shared.registry, &shared.membership).expect("room");
    assert_eq!(shared.newest(), SceneClaim { epoch: 2, state: ClaimState::Free });
    assert!(!shared.registry.has("s") && !lease.answers());
    assert_eq!(shared.membership.open_end("s", 1), None);
}

/// A scene could not be taken in, so its claim was to be given up.
#[test]
fn who_is_asked_for_a_scene_whose_end_may_come_claims_the_next_epoch() {
    let shared = Shared::new("anew");
    let host = shared.registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let lease = Arc::clone(host.lease().expect("shared"));
    shared.registry.forget(&host, NewOwner { address: None, epoch: 1 });
    failing_syncs(&shared.claims(), 1);
    lease.give_up(None).expect_err("it cannot be made to last");
    fs::remove_file(shared.claims().join("2")).expect("there");
    let fields = Fields::new(None, Duration::from_secs(9), shared.registry.metrics());
    let opener = SceneOpener::new(&fields, &shared.membership);
    opener.open(&shared.registry, "s", ClaimFrom::Silent).expect("its own");
    let own = ClaimState::Owned(shared.membership.own().clone());
    assert_eq!(shared.newest(), SceneClaim { epoch: 2, state: own });
    let again = shared.registry.served("s").expect("served");
    assert_eq!(again.lease().map(|lease| lease.epoch()), Some(2));
}
