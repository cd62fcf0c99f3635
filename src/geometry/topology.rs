//! Stub: the real one is being written elsewhere and replaces this file.
#![allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignRule {
    #[default]
    Pseudonormal,
    WindingNumber,
}
