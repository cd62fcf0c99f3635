//! All answers of a conversation, as a digest and as text.

use std::{env, fmt::Write};

use tonic::Status;

use super::{answer::Answer, tally::Tally};

/// Record that grows with each answer.
pub struct Transcript {
    hash: blake3::Hasher,
    pub tally: Tally,
    /// `None` if nobody will read the text: it is hundreds of megabytes.
    text: Option<String>,
}

impl Transcript {
    pub fn new() -> Transcript {
        let text = env::var_os("PALPATE_GOLDEN_DUMP").map(|_| String::new());
        Transcript { hash: blake3::Hasher::new(), tally: Tally::default(), text }
    }

    /// Records an answer of a call, and returns it.
    pub fn note<A: Answer>(&mut self, call: &str, outcome: Result<A, Status>) -> Result<A, Status> {
        self.tally.answers += 1;
        self.part(call.as_bytes());
        match outcome {
            Ok(answer) => {
                answer.count(&mut self.tally);
                let mut timeless = answer.clone();
                timeless.make_timeless();
                self.part(&timeless.encode_to_vec());
                self.write(call, &timeless);
                Ok(answer)
            }
            Err(status) => {
                self.tally.refused += 1;
                self.part(&i32::from(status.code()).to_le_bytes());
                self.part(status.message().as_bytes());
                self.part(status.details());
                self.write(call, &(status.code(), status.message(), status.details()));
                Err(status)
            }
        }
    }

    pub fn digest(&self) -> String {
        self.hash.finalize().to_hex().to_string()
    }

    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Hashes a part after its length, which keeps parts apart.
    fn part(&mut self, bytes: &[u8]) {
        self.hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    fn write(&mut self, call: &str, what: &impl std::fmt::Debug) {
        let number = self.tally.answers;
        if let Some(text) = &mut self.text {
            writeln!(text, "{number} {call}: {what:#?}").expect("memory");
        }
    }
}
