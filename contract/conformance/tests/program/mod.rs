//! Programs as the checker sees them: a manifest, contracts, and the names of what a module
//! imports; and the system of two of them.

use sing_contract::compile;
use sing_image::contract::identities;
use sing_image::elf::Image;
use sing_image::manifest::{Manifest, StartupEndpoint};
use sing_image::meta::{Import, ImportKind, Meta};
use sing_image::system::{Channel, End, Start, SystemManifest};

/// A program with one endpoint. `imports` are whole names, as `contract:C/imp.send.M`.
pub fn program(
    contracts: &str,
    endpoint: StartupEndpoint,
    imports: &[&str],
    behavior: &str,
) -> Image<'static> {
    let import = |name: &&str| {
        let (module, name) = name.split_once('/').unwrap();
        Import {
            module: module.into(),
            name: name.into(),
            kind: ImportKind::Func(0),
        }
    };
    let contracts = compile(contracts).unwrap();
    Image {
        code: &[],
        data: &[],
        meta: Meta {
            imports: imports.iter().map(import).collect(),
            ..Meta::default()
        },
        manifest: Manifest {
            name: "program".into(),
            endpoints: vec![endpoint],
            behavior: behavior.into(),
            ..Manifest::default()
        },
        identities: identities(&contracts).unwrap(),
        lines: &[],
        contracts,
    }
}

/// A client and a server, with a channel of this contract between their endpoints called `c`, or
/// none.
pub fn system(channel: Option<&str>) -> SystemManifest {
    let start = |name: &str| Start {
        name: name.into(),
        image: name.into(),
        args: Vec::new(),
        essential: false,
        main: false,
        supervisor: None,
    };
    let end = |name: &str| End {
        of: name.into(),
        endpoint: "c".into(),
    };
    SystemManifest {
        start: vec![start("client"), start("server")],
        channels: channel
            .map(|contract| Channel {
                contract: contract.into(),
                imp: end("client"),
                exp: end("server"),
            })
            .into_iter()
            .collect(),
        ..SystemManifest::default()
    }
}
