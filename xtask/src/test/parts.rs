//! The parts of the suite.

use super::*;

/// A part of the suite.
pub(super) struct Part {
    pub name: &'static str,
    /// Whether it belongs to a quick run.
    pub quick: bool,
    /// Whether it can run single tests.
    pub filters: bool,
    /// Whether it concerns only emulated machines.
    pub emulated: bool,
    pub run: fn(&Run) -> Result<Report>,
}

impl Part {
    const fn quick(self) -> Part {
        Part {
            quick: true,
            ..self
        }
    }

    const fn filters(self) -> Part {
        Part {
            filters: true,
            ..self
        }
    }

    const fn emulated(self) -> Part {
        Part {
            emulated: true,
            ..self
        }
    }
}

const fn part(name: &'static str, run: fn(&Run) -> Result<Report>) -> Part {
    Part {
        name,
        quick: false,
        filters: false,
        emulated: false,
        run,
    }
}

/// All parts, the quickest to fail first.
pub(super) const PARTS: &[Part] = &[
    part("format", format::formatted).quick(),
    part("unsafe", unsafety::check).quick(),
    part("docs", docs::check).quick(),
    part("specification", specification::check).quick(),
    part("dependencies", dependencies::check).quick(),
    part("lints", format::lints).quick(),
    part("unit", unit::check).quick().filters(),
    part("system-hosted", systems::hosted).quick().filters(),
    part("stress-hosted", systems::stress).quick().filters(),
    part("misuse", misuse::hosted).quick().filters(),
    part("fuzz-abi", fuzz::hosted).quick(),
    part("fuzz-packets", fuzz::packets).quick(),
    part("fuzz-http", fuzz::http).quick(),
    part("fuzz-code", fuzz::kept).quick(),
    part("fuzz-embed", fuzz::embed).quick(),
    part("fuzz-wasi", fuzz::wasi).quick(),
    part("conformance", conformance::check).quick(),
    part("tour", tour::check).quick().filters(),
    part("scheduler", systems::round_robin).quick(),
    part("system-explicit", systems::explicit).filters(),
    part("system-microvm", systems::microvm)
        .filters()
        .emulated(),
    part("stress-q35", systems::stress_q35).filters().emulated(),
    part("system-q35", systems::q35).filters().emulated(),
    part("misuse-microvm", misuse::microvm).filters().emulated(),
    part("fuzz-abi-microvm", fuzz::microvm).emulated(),
    part("machine-selftest", systems::selftest).emulated(),
    part("directories-hosted", directories::hosted).quick(),
    part("directories-pc", directories::pc).emulated(),
    part("ordinary", ordinary::check).quick().filters(),
    part("programs-hosted", programs::hosted).quick().filters(),
    part("programs-pc", programs::pc).filters().emulated(),
    part("serve", serve::check).quick().filters(),
    part("embed", embed::check).quick().filters(),
    part("own", own::check).quick().filters(),
    part("networks-hosted", networks::hosted).quick().filters(),
    part("links-hosted", links::hosted).quick().filters(),
    part("sockets-hosted", sockets::hosted).quick().filters(),
    part("networks-pc", networks::pc).filters().emulated(),
    part("hosts-hosted", hosts::hosted).quick().filters(),
    part("hosts-pc", hosts::pc).filters().emulated(),
    part("connections-pc", tcp::pc).filters().emulated(),
    part("bridge-hosted", bridge::hosted).quick().filters(),
    part("web-hosted", web::hosted).quick().filters(),
    part("web-pc", web::pc).filters().emulated(),
    part("devices-hosted", devices::hosted).quick().filters(),
    part("devices", devices::pc).filters().emulated(),
    part("platform", platform::run).filters().emulated(),
    part("display-hosted", display::hosted).quick().filters(),
    part("display-pc", display::pc).filters().emulated(),
    part("debugger", debugger::hosted).quick().filters(),
    part("debugger-pc", debugger::pc).filters().emulated(),
    part("boot", boot::check).filters().emulated(),
    part("deploy", deploy::check).filters(),
    part("soak", soak::check).filters(),
    part("wast", wast::check),
];
