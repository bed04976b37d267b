//! The system's services with their policies and their order, as `sing image` has inferred them:
//! the file [`FILE`] of the system image.

pub use sing_image::plan::{HEALTH, NAMES, Place, Plan, Planned};
pub use sing_image::policy::{Backoff, Dependants, Limit, Restart, Service, When};

/// Where the plan is in the system image.
pub const FILE: &str = sing_image::system::PLAN;
