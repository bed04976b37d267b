//! What a service's file in `/services` says, and a device's in `/hardware`.

use crate::service::Service;
use core::time::Duration;
use sing_sdk::device::DeviceInfo;
use sing_sdk::plan::{Dependants, When};
use sing_sdk::prelude::*;

/// The text about a service; `all` are the services of the plan.
pub fn text(service: &Service, all: &[Service], now: Duration) -> String {
    let policy = &service.plan.service;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<10} {value}\n"));
        }
    };
    let ms = |ms: u32| Duration::from_millis(ms.into());
    line("name", &policy.name);
    line("image", &policy.image);
    line("state", service.state.name());
    line("for", &format!("{:.1?}", now.saturating_sub(service.since)));
    if service.child.is_some() {
        line("process", &service.process().to_string());
    }
    line("restarts", &service.history.restarts().to_string());
    line("reason", &service.reason);
    for place in &service.plan.places {
        line("serves", &format!("{} ({})", place.path, place.contract));
    }
    for need in service.plan.needs.iter().filter_map(|n| all.get(*n)) {
        line("uses", need.name());
    }
    let start = match policy.start {
        When::Boot => "with the system",
        When::Demand => "on demand",
    };
    line("starts", start);
    let (backoff, limit) = (&policy.backoff, &policy.limit);
    let limit = match limit.restarts {
        0 => "any number".into(),
        most => format!("{most} within {:?}", ms(limit.within_ms)),
    };
    let restart = format!(
        "{}, after {:?} to {:?}, {limit}",
        policy.restart.name(),
        ms(backoff.first_ms),
        ms(backoff.most_ms)
    );
    line("restart", &restart);
    if policy.dependants == Dependants::Stop {
        line("dependants", "stop with it");
    }
    text
}

/// The text about a device, `all` being the services that may drive it.
pub fn device(device: &DeviceInfo, number: u32, all: &[Service]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<10} {value}\n"));
    line("location", &device.location);
    line("signature", &device.signature);
    let driver = all.iter().find(|s| s.devices.contains(&Some(number)));
    if let Some(driver) = driver {
        line("service", driver.name());
        line("state", driver.state.name());
        line("restarts", &driver.history.restarts().to_string());
    }
    match (device.holder, device.broken) {
        (_, true) => line(
            "process",
            "none: it did not stop when it was given up, and is set aside",
        ),
        (0, false) => line("process", "none"),
        (id, false) => line("process", &id.to_string()),
    }
    line("interrupt", if device.interrupt { "yes" } else { "no" });
    text
}
