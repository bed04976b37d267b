//! The contract language: parser, checks, tables.
