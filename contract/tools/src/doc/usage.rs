//! The programs that serve a contract and that use it: their imports say what they can send, their
//! manifests with which endpoints they start, and the system's manifest which of these are
//! connected.

use sing_image::manifest::{Manifest, Side};
use sing_image::system::SystemManifest;
use std::collections::BTreeSet;

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its manifest.
    pub manifest: Manifest,
    /// Module and name of each import.
    pub imports: Vec<(String, String)>,
}

/// The programs and systems that the documentation tells of.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Programs.
    pub programs: Vec<Program>,
    /// Systems: what they start, and how it is connected.
    pub systems: Vec<SystemManifest>,
}

/// A program with one side of a contract.
pub(super) struct User<'a> {
    pub program: &'a str,
    /// Messages that it can send.
    pub sends: BTreeSet<&'a str>,
    /// Its start-up endpoints of this side.
    pub endpoints: Vec<&'a str>,
}

impl Usage {
    /// Whether anything is known.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.systems.is_empty()
    }

    /// The programs that have this side of a contract.
    pub(super) fn users(&self, contract: &str, side: Side) -> Vec<User<'_>> {
        let mut users: Vec<User<'_>> = self
            .programs
            .iter()
            .filter_map(|p| user(p, contract, side))
            .collect();
        users.sort_by_key(|u| u.program);
        users.dedup_by_key(|u| u.program);
        users
    }

    /// Channels of a contract between the programs that a system starts: importing end, exporting
    /// end.
    pub(super) fn channels(&self, contract: &str) -> Vec<(String, String)> {
        let all = self.systems.iter().flat_map(|s| &s.channels);
        let of = all.filter(|c| c.contract == contract);
        of.map(|c| {
            let end = |e: &sing_image::system::End| format!("{}.{}", e.of, e.endpoint);
            (end(&c.imp), end(&c.exp))
        })
        .collect()
    }
}

fn user<'a>(program: &'a Program, contract: &str, side: Side) -> Option<User<'a>> {
    let prefix = format!("{}.", side.name().to_lowercase());
    let module = format!("{}{contract}", sing_abi::names::CONTRACT_PREFIX);
    let imports = program.imports.iter().filter(|(m, _)| *m == module);
    let operations: Vec<&str> = imports
        .filter_map(|(_, name)| name.strip_prefix(&prefix))
        .collect();
    let sends = operations
        .iter()
        .filter_map(|o| o.strip_prefix("send.").or(o.strip_prefix("call.")))
        .collect();
    let declared = program.manifest.endpoints.iter();
    let endpoints: Vec<&str> = declared
        .filter(|e| e.contract == contract && e.side == side)
        .map(|e| e.name.as_str())
        .collect();
    // A program that only closes an endpoint, or hands it on, neither serves nor uses the contract.
    (!operations.is_empty() || !endpoints.is_empty()).then_some(User {
        program: &program.manifest.name,
        sends,
        endpoints,
    })
}
