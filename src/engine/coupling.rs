//! Shared parts of a proxy at the server and a servo at the device: postures in a few coordinates, the displacement of
//! least spring energy that contacts allow, friction cones, and limits of the force for a hand.
//!
//! This module knows no mesh, tissue or tool: a contact is a row of numbers here, whoever found it.

pub mod contact_law;
pub mod extent;
pub mod force_ramp;
pub mod friction;
pub mod local_model;
pub mod posture;
pub mod quadratic_programme;
pub mod screw;
pub mod spring;
pub mod wrench;
