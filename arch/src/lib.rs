//! Context switch, locks and other trusted mechanics of x86-64.
