//! Layer 3: a proxy of each rendered instrument, and the force between the proxy and the hand.
//!
//! A simulator that renders contacts as springs lets a thin instrument pop through. The usual answer is the god-object:
//! a copy of the instrument that never enters tissue and is drawn towards the device; the force is the spring between
//! the two (Zilles and Salisbury 1995; six degrees of freedom: Ortega, Redon, Coquillart 2007). For each tool, a tick
//! of its [`ToolProxy`]
//!
//! 1. follows the tissues from where they were last seen, which pushes the proxy (`seen_tissues`, `tissue_view`);
//!    tissues that leave it no feasible pose give way, as far as it sees them (`giving_way`); tissue placed through the
//!    proxy does not constrain it, and tissue placed about the proxy moves it off (`put_tissue`, `put_patch`);
//! 2. moves the proxy to each coalesced pose, in order, and to the newest, in rounds (`god_object`): contacts that are
//!    local minima of distance (`near`, `near_contact`) become `rows`; the
//!    [`quadratic_programme`](crate::coupling::quadratic_programme) gives the displacement of least spring energy,
//!    [`friction`](crate::coupling::friction) its cones; `motion` goes as far along it as continuous collision of every
//!    pair lets it;
//! 3. answers a [`Rendering`]: proxy, force and torque, contacts with their forces, loads of the tissues
//!    (`tissue_loads`), grasped tissues (`grasps`);
//! 4. converts the contacts to planes (`linearised`, `contact_plane`), if a servo at the device asks for them, and
//!    bounds the radius within which they are complete (`local_bounds`).
//!
//! A [`RenderedSession`] is a haptic loop with such tools: it moves the proxies and then answers the tick at their
//! poses.
//!
//! The invariant: no triangle of a constrained link crosses one of a tissue, exactly, except for tissues that embed the
//! proxy (`feasibility`) and tissues that leave it no feasible pose. Time is an argument, as everywhere in the engine.

mod contact_list;
mod contact_memory;
mod contact_plane;
mod feasibility;
mod felt_forces;
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
mod round_programme;
mod rows;
mod seen_tissues;
mod shading;
#[cfg(test)]
mod tests;
mod tissue_loads;
mod tissue_velocity;
mod tissue_view;
mod tool_proxy;
mod tried_features;

pub use options::{RenderError, RenderOptions};
pub use rendered_session::{RenderedSession, RenderedSessionError};
pub use rendering::{GraspEvent, ProxyContact, RenderState, Rendering, TissueLoad};
pub use tool_proxy::{ProxyTick, ToolProxy};
