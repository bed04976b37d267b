//! `sing check system`: what will start, in which order, and what can run, from the image alone
//! ([O] 5.2).

use crate::check::Subject;
use crate::output::name_of;
use crate::{input, output, system};
use serde_json::{Value, json};
use sing_image::manifest::Category;
use sing_image::plan::{Plan, Planned, Provider, provider_of, providers};
use sing_image::policy::When;
use sing_image::system::{BIN, MAGIC, PLAN, Start, SystemImage, SystemManifest, of_other_version};
use std::fmt::Write;
use std::path::Path;

/// Answers for a system; whether it can start as it says.
pub fn run(subject: &Subject, json: bool) -> Result<bool, String> {
    match subject {
        Subject::File(path) => {
            let bytes = input::read(path)?;
            if let Some(why) = of_other_version(&bytes) {
                return Err(format!("{}: {why}", name_of(path)));
            }
            if !bytes.starts_with(MAGIC) {
                return Err(format!(
                    "{}: not a system image; for its parts, say --manifest SYSTEM.json and --bin",
                    name_of(path)
                ));
            }
            let archive =
                SystemImage::decode(&bytes).map_err(|e| format!("{}: {e}", name_of(path)))?;
            let programs: Vec<(&str, &[u8])> = archive
                .files()
                .filter(|(path, _)| path.starts_with(BIN))
                .collect();
            let stored = archive.file(PLAN).unwrap_or_default();
            Ok(check(
                path,
                archive.manifest(),
                &programs,
                Some(stored),
                json,
            ))
        }
        Subject::Parts {
            manifests,
            programs,
        } => {
            let manifest = system::read_all(manifests)?;
            let files = system::compiled(programs)?;
            let name = manifests.first().cloned().unwrap_or_default();
            Ok(check(
                &name,
                &manifest,
                &system::borrowed(&files),
                None,
                json,
            ))
        }
    }
}

/// Checks a system; `stored` is the plan in its image, by which the service manager goes.
fn check(
    name: &Path,
    manifest: &SystemManifest,
    files: &[(&str, &[u8])],
    stored: Option<&[u8]>,
    json: bool,
) -> bool {
    let name = name.display();
    let inferred = system::plan(manifest, files);
    let compared = inferred.and_then(|plan| match stored.and_then(|s| differs(s, &plan)) {
        Some(fault) => Err(vec![fault]),
        None => Ok(plan),
    });
    let plan = match compared {
        Ok(plan) => plan,
        Err(problems) if json => {
            let found =
                json!({ "system": name.to_string(), "starts": false, "problems": problems });
            output::json(format!("{found:#}"));
            return false;
        }
        Err(problems) => {
            for problem in &problems {
                output::line(format!("error: {problem}"));
            }
            let faults = if problems.len() == 1 {
                "fault"
            } else {
                "faults"
            };
            output::line(format!(
                "{name}: {} {faults}: the system cannot start as it says",
                problems.len()
            ));
            return false;
        }
    };
    if json {
        let found = in_json(&name.to_string(), manifest, &plan, &system::images(files).0);
        output::json(format!("{found:#}"));
        return true;
    }
    output::lines(answer(manifest, &plan, &system::images(files).0));
    output::line(format!(
        "{name}: nothing is missing, nothing is in the way of anything else"
    ));
    let ends = |start: &Start| start.main || start.essential;
    if !manifest.start.is_empty() && !manifest.start.iter().any(ends) {
        output::line(format!(
            "{name}: no program that it starts is `main`: it does not end with any of them"
        ));
    }
    true
}

/// The answer for another program.
fn in_json(
    name: &str,
    manifest: &SystemManifest,
    plan: &Plan,
    images: &system::Images<'_>,
) -> Value {
    let started = manifest.start.iter().map(|start| {
        json!({
            "name": start.name,
            "image": start.image,
            "main": start.main,
            "essential": start.essential,
            "supervisor": start.supervisor,
        })
    });
    let services = plan.services.iter().map(|planned| {
        let service = &planned.service;
        let places = planned.places.iter();
        let places = places.map(|p| json!({ "path": p.path, "contract": p.contract }));
        let needs = planned.needs.iter().filter_map(|n| plan.services.get(*n));
        json!({
            "name": service.name,
            "image": service.image,
            "on_demand": service.start == When::Demand,
            "restart": service.restart.name(),
            "serves": places.collect::<Vec<_>>(),
            "uses": needs.map(|n| n.service.name.as_str()).collect::<Vec<_>>(),
        })
    });
    let providers = providers(manifest, &system::Installed(images));
    let apps = images
        .iter()
        .filter(|(_, image)| image.manifest.category == Category::App);
    let programs = apps.map(|(name, image)| {
        let uses = image.manifest.uses.iter();
        let uses = uses.map(|u| (u.path.as_str(), provider_of(&providers, &u.path)));
        let uses: Vec<_> = uses.collect();
        let served = uses
            .iter()
            .map(|(path, by)| json!({ "path": path, "by": by.map(|p| &p.name) }));
        json!({
            "name": name,
            "can_run": uses.iter().all(|(_, by)| by.is_some()),
            "uses": served.collect::<Vec<_>>(),
        })
    });
    json!({
        "system": name,
        "starts": true,
        "started": started.collect::<Vec<_>>(),
        "services": services.collect::<Vec<_>>(),
        "programs": programs.collect::<Vec<_>>(),
    })
}

/// How the plan in an image differs from the one that follows from its manifests.
fn differs(stored: &[u8], plan: &Plan) -> Option<String> {
    let anew = "make the image anew with `sing image`";
    let stored = match Plan::decode(stored) {
        Ok(stored) => stored,
        Err(e) => return Some(format!("{PLAN}: {e}; {anew}")),
    };
    let pairs = (0..stored.services.len().max(plan.services.len()))
        .map(|at| (stored.services.get(at), plan.services.get(at)));
    let (at, (one, other)) = pairs.enumerate().find(|(_, (one, other))| one != other)?;
    let at = at + 1;
    let name = |planned: &Planned| format!("{:?}", planned.service.name);
    let how = match (one, other) {
        (Some(one), Some(other)) if name(one) == name(other) => format!(
            "has service {}, number {at}, with another policy, other paths or other needs than its \
             manifests say",
            name(one)
        ),
        (one, other) => {
            let or_none = |planned: Option<&Planned>| planned.map_or("no service".into(), name);
            let (one, other) = (or_none(one), or_none(other));
            format!("has {one} as number {at}, where by the manifests {other} is")
        }
    };
    Some(format!("{PLAN} {how}; {anew}"))
}

/// The order, and the programs that can run.
fn answer(manifest: &SystemManifest, plan: &Plan, images: &system::Images<'_>) -> String {
    let mut text = String::from("The kernel starts these, with all channels connected before:\n");
    // Writing to memory does not fail.
    for start in &manifest.start {
        let what = match (start.main, start.essential) {
            (true, _) => "main",
            (false, true) => "essential",
            (false, false) if start.supervisor.is_some() => "supervised",
            (false, false) => "-",
        };
        let _ = writeln!(text, "  {:<16} {what}", start.name);
    }
    if !plan.services.is_empty() {
        text += "The service manager starts these, each after those that it uses:\n";
    }
    for (at, planned) in plan.services.iter().enumerate() {
        let service = &planned.service;
        let when = match service.start {
            When::Boot => "with the system",
            When::Demand => "on demand",
        };
        let places = planned.places.iter();
        let places: Vec<String> = places
            .map(|p| format!("{} ({})", p.path, p.contract))
            .collect();
        let needs: Vec<&str> = (planned.needs.iter())
            .filter_map(|n| plan.services.get(*n))
            .map(|n| n.service.name.as_str())
            .collect();
        let uses = match needs.as_slice() {
            [] => String::new(),
            needs => format!(", uses {}", needs.join(", ")),
        };
        let _ = writeln!(
            text,
            "  {:>2} {:<16} {when}, restart {}: {}{uses}",
            at + 1,
            service.name,
            service.restart.name(),
            places.join(", ")
        );
        let confined = |image: &sing_image::manifest::Manifest| {
            image.devices.iter().any(|d| d.dma > 0 && !d.optional)
        };
        let mut named = images.iter().filter(|(name, _)| **name == *service.image);
        if named.any(|(_, image)| confined(&image.manifest)) {
            let _ = writeln!(
                text,
                "     only on a machine whose IOMMU confines its device, which reaches memory itself"
            );
        }
    }
    let providers = providers(manifest, &system::Installed(images));
    let (mut free, mut shown) = (0, String::new());
    for (name, image) in images {
        if image.manifest.category != Category::App {
            continue;
        }
        if image.manifest.uses.is_empty() {
            free += 1;
            continue;
        }
        let uses = image.manifest.uses.iter();
        let uses: Vec<String> = uses.map(|used| served(&providers, &used.path)).collect();
        let can = if uses.iter().any(|u| u.ends_with(NOBODY)) {
            "cannot run"
        } else {
            "can run"
        };
        let _ = writeln!(shown, "  {name:<16} {can}: uses {}", uses.join(", "));
    }
    let _ = writeln!(text, "{free} programs can run without any service.");
    if !shown.is_empty() {
        text += "Of the others:\n";
    }
    (text + &shown).trim_end().to_owned()
}

const NOBODY: &str = "which nobody serves";

fn served(providers: &[Provider<'_>], path: &str) -> String {
    match provider_of(providers, path) {
        Some(provider) => format!("{path} of {}", provider.name),
        None => format!("{path}, {NOBODY}"),
    }
}
