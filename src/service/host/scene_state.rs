//! States of a scene, and the events that lead from one to another.
//!
//! The state of a scene that is here has two independent parts: its owner ([`Hold`]), and the state of its indices
//! ([`Indices`]). It is served while it is `Held` and `Sound`. An end is final, except that a deletion outlasts the
//! others.
//!
//! ```text
//!             | Claimed | Leaving | Kept | DeletionUnknown
//! ------------|---------|---------|------|----------------
//! Opening     | Held    | Leaving | Held | Deleting
//! Held        | -       | Leaving | -    | Deleting
//! Leaving     | -       | -       | Held | Deleting
//! Deleting    | -       | -       | -    | -
//!
//!             | WriterFailed | Rebuilt | Lost | ReadAgain
//! ------------|--------------|---------|------|----------
//! Sound       | Rebuilding   | -       | Lost | -
//! Rebuilding  | -            | Sound   | Lost | -
//! Lost        | -            | -       | Lost | Reading
//! Reading     | -            | -       | Lost | -
//!
//!             | Deleted | Replaced | Elsewhere
//! ------------|---------|----------|----------
//! Here        | Deleted | Replaced | Elsewhere
//! Deleted     | -       | -        | -
//! Replaced    | Deleted | -        | -
//! Elsewhere   | Deleted | -        | -
//! ```
//! `-`: nothing changes. `ReadAgain` does nothing before the scene is due.

use super::cluster::scene_lease::NewOwner;

/// State of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneState {
    /// This server has the scene.
    Here {
        /// Its owner.
        hold: Hold,
        /// State of its indices.
        indices: Indices,
    },
    /// This server no longer has the scene.
    Ended(End),
}

/// Owner of a scene that this server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It was read from a store that servers share, and its claim has yet to be read once more.
    Opening,
    /// It is this server's.
    Held,
    /// It will be another server's: its newest positions are being persisted for that server.
    Leaving,
    /// It was deleted, and the disk has not reported whether its files are gone.
    Deleting,
}

/// State of a scene's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indices {
    /// They can be used.
    Sound,
    /// The scene's writer failed too often; they are being rebuilt from memory.
    Rebuilding,
    /// They cannot be rebuilt from memory. The scene is due to be read from the disk.
    Lost {
        /// When it is due: nanoseconds of the process's clock.
        due_ns: u64,
    },
    /// The scene is being read from the disk, or cannot be.
    Reading,
}

/// End of a scene on this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was deleted.
    Deleted,
    /// It was read from the disk again, and continues as another instance.
    Replaced,
    /// Another server owns it, or none.
    Elsewhere(NewOwner),
}

/// An event in the life of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneEvent {
    /// The scene's newest claim is this server's.
    Claimed,
    /// The scene is to be given up.
    Leaving,
    /// The scene could not be given up.
    Kept,
    /// The scene was deleted, and the disk failed.
    DeletionUnknown,
    /// The scene's writer failed too often in a row.
    WriterFailed,
    /// All indices are rebuilt.
    Rebuilt,
    /// The scene cannot be rebuilt from memory, or could not be read from the disk.
    Lost {
        /// When it is due to be read: nanoseconds of the process's clock.
        due_ns: u64,
    },
    /// The scene is to be read from the disk if it is due.
    ReadAgain {
        /// Nanoseconds of the process's clock.
        now_ns: u64,
    },
    /// The scene has ended here.
    Ended(End),
}

impl SceneState {
    /// Returns the state after an event; `None` if the event changes nothing.
    pub fn after(&self, event: &SceneEvent) -> Option<SceneState> {
        match (self, event) {
            (SceneState::Ended(End::Deleted), _) => None,
            (_, SceneEvent::Ended(End::Deleted)) => Some(SceneState::Ended(End::Deleted)),
            (SceneState::Ended(_), _) => None,
            (SceneState::Here { .. }, SceneEvent::Ended(end)) => {
                Some(SceneState::Ended(end.clone()))
            }
            (SceneState::Here { hold, indices }, event) => {
                let (of_hold, of_indices) = (hold.after(event), indices.after(event));
                let is_changed = of_hold.is_some() || of_indices.is_some();
                is_changed.then_some(SceneState::Here {
                    hold: of_hold.unwrap_or(*hold),
                    indices: of_indices.unwrap_or(*indices),
                })
            }
        }
    }
}

impl Hold {
    fn after(self, event: &SceneEvent) -> Option<Hold> {
        match (self, event) {
            (Hold::Deleting, _) => None,
            (_, SceneEvent::DeletionUnknown) => Some(Hold::Deleting),
            // Not from `Leaving`: positions that change from now on would not be persisted.
            (Hold::Opening, SceneEvent::Claimed) => Some(Hold::Held),
            (Hold::Opening | Hold::Held, SceneEvent::Leaving) => Some(Hold::Leaving),
            (Hold::Opening | Hold::Leaving, SceneEvent::Kept) => Some(Hold::Held),
            _ => None,
        }
    }
}

impl Indices {
    fn after(self, event: &SceneEvent) -> Option<Indices> {
        match (self, event) {
            (_, SceneEvent::Lost { due_ns }) => Some(Indices::Lost { due_ns: *due_ns }),
            (Indices::Sound, SceneEvent::WriterFailed) => Some(Indices::Rebuilding),
            (Indices::Rebuilding, SceneEvent::Rebuilt) => Some(Indices::Sound),
            (Indices::Lost { due_ns }, SceneEvent::ReadAgain { now_ns }) if due_ns <= *now_ns => {
                Some(Indices::Reading)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: [Hold; 4] = [Hold::Opening, Hold::Held, Hold::Leaving, Hold::Deleting];

    fn indices() -> [Indices; 4] {
        [Indices::Sound, Indices::Rebuilding, Indices::Lost { due_ns: 5 }, Indices::Reading]
    }

    fn ends() -> [End; 3] {
        let owner = NewOwner { address: None, epoch: 1 };
        [End::Deleted, End::Replaced, End::Elsewhere(owner)]
    }

    fn states() -> Vec<SceneState> {
        let here = HOLDS
            .iter()
            .flat_map(|hold| indices().map(|indices| SceneState::Here { hold: *hold, indices }));
        here.chain(ends().map(SceneState::Ended)).collect()
    }

    fn events() -> [Vec<SceneEvent>; 3] {
        use SceneEvent::*;
        [
            vec![Claimed, Leaving, Kept, DeletionUnknown],
            vec![WriterFailed, Rebuilt, Lost { due_ns: 9 }, ReadAgain { now_ns: 5 }],
            ends().map(Ended).to_vec(),
        ]
    }

    /// First word of a value as `Debug` prints it, without the wrapper.
    fn word(value: &impl std::fmt::Debug) -> String {
        let text = format!("{value:?}");
        let text = text.strip_prefix("Ended(").unwrap_or(&text);
        text.chars().take_while(|c| c.is_alphanumeric()).collect()
    }

    fn table(
        rows: &[(String, SceneState)],
        events: &[SceneEvent],
        cell: fn(&SceneState) -> String,
    ) -> String {
        let names: Vec<String> = events.iter().map(word).collect();
        let mut text = format!("//!             | {}\n", names.join(" | "));
        let dashes: Vec<String> = names.iter().map(|name| "-".repeat(name.len() + 2)).collect();
        let dashes = dashes.join("|");
        text.push_str(&format!("//! ------------|{}\n", &dashes[..dashes.len() - 1]));
        for (name, state) in rows {
            let cells = events.iter().zip(&names).map(|(event, of)| {
                let next = state.after(event).as_ref().map_or("-".to_owned(), cell);
                format!("{next:<width$}", width = of.len())
            });
            let cells = cells.collect::<Vec<_>>().join(" | ");
            text.push_str(&format!("//! {name:<12}| {}\n", cells.trim_end()));
        }
        text
    }

    fn here(hold: Hold, indices: Indices) -> SceneState {
        SceneState::Here { hold, indices }
    }

    fn word_of_hold(state: &SceneState) -> String {
        let SceneState::Here { hold, .. } = state else { panic!("ended: {state:?}") };
        word(hold)
    }

    fn word_of_indices(state: &SceneState) -> String {
        let SceneState::Here { indices, .. } = state else { panic!("ended: {state:?}") };
        word(indices)
    }

    #[test]
    fn the_table_at_the_top_is_that_of_the_code() {
        let [of_hold, of_indices, of_end] = events();
        let holds = HOLDS.map(|hold| (word(&hold), here(hold, Indices::Sound)));
        let indices = indices().map(|indices| (word(&indices), here(Hold::Held, indices)));
        let mut ended = vec![("Here".to_owned(), here(Hold::Held, Indices::Sound))];
        ended.extend(ends().map(|end| (word(&end), SceneState::Ended(end))));
        let tables = [
            table(&holds, &of_hold, word_of_hold),
            table(&indices, &of_indices, word_of_indices),
            table(&ended, &of_end, word),
        ];
        let file = include_str!("scene_state.rs").replace("\r\n", "\n");
        for expected in tables {
            assert!(
                file.contains(&expected),
                "expected in the module's documentation:\n{expected}"
            );
        }
    }

    /// The parts do not affect one another, an end is final, and a deletion is never undone.
    #[test]
    fn every_event_in_every_state_does_what_the_table_says_of_its_part() {
        let all: Vec<SceneEvent> = events().into_iter().flatten().collect();
        let mut n_changes = 0;
        for (state, event) in states().iter().flat_map(|s| all.iter().map(move |e| (s, e))) {
            let Some(next) = state.after(event) else { continue };
            n_changes += 1;
            assert_ne!(next, *state, "{event:?} changes nothing");
            match (state, &next) {
                (SceneState::Here { hold, indices }, SceneState::Here { hold: h, indices: i }) => {
                    assert!(hold == h || indices == i, "{state:?} + {event:?} = {next:?}");
                    assert!(*hold != Hold::Deleting || *h == Hold::Deleting);
                    let is_served = |h, i| (h, i) == (Hold::Held, Indices::Sound);
                    let serves = matches!(
                        event,
                        SceneEvent::Claimed | SceneEvent::Kept | SceneEvent::Rebuilt
                    );
                    assert!(serves || !is_served(*h, *i), "{state:?} + {event:?} = {next:?}");
                }
                (_, SceneState::Ended(end)) => {
                    assert_eq!(*event, SceneEvent::Ended(end.clone()));
                    assert!(!matches!(state, SceneState::Ended(End::Deleted)));
                }
                (SceneState::Ended(_), SceneState::Here { .. }) => panic!("{state:?} + {event:?}"),
            }
        }
        // Changes of the hold count once for each state of the indices, and the other way round.
        assert_eq!(n_changes, 8 * 4 + 7 * 4 + (16 * 3 + 2));
        let early = SceneEvent::ReadAgain { now_ns: 4 };
        assert_eq!(here(Hold::Held, Indices::Lost { due_ns: 5 }).after(&early), None);
    }
}
