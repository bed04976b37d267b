//! The contracts of the system.
