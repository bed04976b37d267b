//! Trusted run-time: instances, context records, tables.
