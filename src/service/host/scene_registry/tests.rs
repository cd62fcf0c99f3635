//! Scenes that are made and deleted.

use super::*;

#[test]
fn deleted_scenes_are_gone_and_say_so() {
    let registry = SceneRegistry::new(&Config {
        limits: Limits { scenes: 1, ..Limits::default() },
        ..Config::default()
    });
    let host = registry.create("liver", &Caller::ANYBODY).expect("room");
    assert!(matches!(
        registry.create("liver", &Caller::ANYBODY),
        Err(SceneRegistryError::Taken { .. })
    ));
    assert!(matches!(
        registry.create("spleen", &Caller::ANYBODY),
        Err(SceneRegistryError::Full { limit: 1 })
    ));
    host.check_served().expect("served");
    registry.delete("liver", &Caller::ANYBODY).expect("there");
    assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
    assert!(matches!(registry.get("liver"), Err(SceneRegistryError::Unknown { .. })));
    registry
        .create("liver", &Caller::ANYBODY)
        .expect("the id is free again")
        .check_served()
        .expect("a new scene");
}
