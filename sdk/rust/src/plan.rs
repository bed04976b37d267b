//! The system's services with their policies and their order, as `sing image` has inferred them:
//! the boot file [`FILE`].

pub use sing_image::plan::{HEALTH, NAMES, Place, Plan, Planned};
pub use sing_image::policy::{Backoff, Dependants, Limit, Restart, Service, When};

/// Where the plan is.
pub const FILE: &str = "/boot/services.plan";
