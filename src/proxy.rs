//! Layer 3: a proxy of each rendered instrument, and the force between it and the hand.
//!
//! A simulator that renders contacts as springs lets a thin instrument pop through. The field's answer is the
//! god-object: a copy of the instrument that never enters tissue and is drawn towards the device; the force is the
//! spring between the two (Zilles and Salisbury 1995; six degrees of freedom: Ortega, Redon, Coquillart 2007). For
//! each tool, a tick of its [`ToolProxy`]
//!
//! 1. follows the tissues from where they were seen last, which pushes the proxy (`seen_tissues`, `tissue_view`); those that
//!    leave it no room give way, as far as it sees them (`giving_way`); what is put through it has no say, and what is put
//!    to it moves it off (`put_tissue`, `put_patch`);
//! 2. draws it to each coalesced pose, in order, and to the newest, in rounds (`god_object`): contacts that are local
//!    minima of distance (`near`, `near_contact`) become `rows`; the [`quadratic_programme`](crate::coupling::quadratic_programme) gives the displacement of least spring
//!    energy, [`friction`](crate::coupling::friction) its cones; `motion` goes as far along it as continuous collision of every pair lets it;
//! 3. answers a [`Rendering`]: proxy, force and torque, contacts with their forces, loads of the tissues
//!    (`tissue_loads`), what is grasped (`grasps`);
//! 4. takes the contacts for planes (`linearised`, `contact_plane`), where a servo at the device asks for them, and says
//!    how far they are all there are (`local_bounds`).
//!
//! A [`RenderedSession`] is a haptic loop with such tools: it draws the proxies and then answers the tick where they are.
//!
//! The invariant: no triangle of a constrained link crosses one of a tissue, exactly, but for tissues that the proxy
//! is embedded in (`feasibility`), and tissues that leave it no room. Time comes in as an argument, as it does everywhere in the engine.

mod contact_list;
mod contact_memory;
mod contact_plane;
mod feasibility;
mod giving_place;
mod giving_way;
mod god_object;
mod grasps;
mod joined_borders;
mod last_round;
mod linearised;
mod local_bounds;
mod margins;
mod motion;
mod near;
mod near_contact;
mod options;
mod pair_list;
mod posed_link;
mod posture;
mod put_patch;
mod put_tissue;
mod rendered_session;
mod rendering;
mod rows;
mod seen_tissues;
#[cfg(test)]
mod tests;
mod tissue_loads;
mod tissue_velocity;
mod tissue_view;
mod tool_proxy;

pub use options::{RenderError, RenderOptions};
pub use rendered_session::{RenderedSession, RenderedSessionError};
pub use rendering::{GraspEvent, ProxyContact, RenderState, Rendering, TissueLoad};
pub use tool_proxy::{ProxyTick, ToolProxy};
