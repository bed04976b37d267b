//! The policy of the system manifest for each service: when it starts, what happens when it ends
//! ([O] 5.2).
//!
//! Invariant: every number here is bounded by [`Service::problems`], so that the service manager
//! needs a bounded amount of memory and time for each service, whatever the service does.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The most services of one system: the manager waits for all of them at once.
pub const MOST_SERVICES: usize = 48;
/// The most restarts that a [`Limit`] can count.
pub const MOST_RESTARTS: u32 = 1000;
/// The longest time that a policy can name, in milliseconds: an hour.
pub const LONGEST_MS: u32 = 3_600_000;

/// When a service starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// With the system.
    Boot,
    /// When a client binds one of its names for the first time.
    #[default]
    Demand,
}

/// Whether a service that has ended is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// However it ended.
    Always,
    /// Unless it ended by itself, with exit code 0.
    #[default]
    OnFailure,
    /// Never.
    Never,
}

impl Restart {
    /// Its name in a system manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Restart::Always => "always",
            Restart::OnFailure => "on-failure",
            Restart::Never => "never",
        }
    }
}

/// The wait before a restart: longer each time, until the service has been up for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// The first wait, in milliseconds.
    pub first_ms: u32,
    /// Each wait is so many times as long as the one before.
    pub factor: u32,
    /// The longest wait, in milliseconds. A service that has been up for this long, and for a
    /// second at least, begins again with the first wait.
    pub most_ms: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            first_ms: 10,
            factor: 2,
            most_ms: 5000,
        }
    }
}

impl Backoff {
    /// The wait before a restart, in milliseconds, after so many in a row.
    #[must_use]
    pub fn wait_ms(&self, restarts: u32) -> u32 {
        let mut wait = u64::from(self.first_ms);
        for _ in 0..restarts {
            if wait >= u64::from(self.most_ms) || self.factor <= 1 || wait == 0 {
                break;
            }
            wait *= u64::from(self.factor);
        }
        wait.min(u64::from(self.most_ms)) as u32
    }
}

/// How often a service may be restarted before the manager gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// So many restarts; 0 for any number.
    pub restarts: u32,
    /// Within so many milliseconds.
    pub within_ms: u32,
}

impl Default for Limit {
    fn default() -> Self {
        Limit {
            restarts: 20,
            within_ms: 60_000,
        }
    }
}

/// What happens to the services that use a service which has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dependants {
    /// They go on, and bind again when they need it.
    #[default]
    Leave,
    /// They are stopped, and started again after it.
    Stop,
}

/// A service that the manager starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The service's name; unique within the system.
    pub name: String,
    /// Its image under `bin/`; the service's name if none is given.
    #[serde(default)]
    pub image: String,
    /// Its arguments; the program's own name if none are given.
    #[serde(default)]
    pub args: Vec<String>,
    /// The service's places in the name space: a path for each name that its manifest serves. A name that is
    /// not here is served at `/NAME`.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// When it starts.
    #[serde(default)]
    pub start: When,
    /// Whether it is started again.
    #[serde(default)]
    pub restart: Restart,
    /// The waits before that.
    #[serde(default)]
    pub backoff: Backoff,
    /// How often at most.
    #[serde(default)]
    pub limit: Limit,
    /// The most memory, in bytes, that the program's own manifest may ask for. 0: whatever it asks
    /// for.
    #[serde(default)]
    pub memory: u64,
    /// What happens to its dependants when it ends.
    #[serde(default)]
    pub dependants: Dependants,
    /// Milliseconds until it must be up, that is ready for clients.
    #[serde(default = "two_seconds")]
    pub up_ms: u32,
    /// Milliseconds between two questions after its health, for a service that declares
    /// `HealthContract`. 0: it is not asked.
    #[serde(default = "two_seconds")]
    pub health_ms: u32,
    /// Milliseconds within which it must answer.
    #[serde(default = "two_seconds")]
    pub answer_ms: u32,
}

fn two_seconds() -> u32 {
    2000
}

impl Service {
    /// A service of which everything but the name is left out.
    #[must_use]
    pub fn named(name: &str) -> Service {
        Service {
            name: name.into(),
            image: String::new(),
            args: Vec::new(),
            names: BTreeMap::new(),
            start: When::default(),
            restart: Restart::default(),
            backoff: Backoff::default(),
            limit: Limit::default(),
            memory: 0,
            dependants: Dependants::default(),
            up_ms: two_seconds(),
            health_ms: two_seconds(),
            answer_ms: two_seconds(),
        }
    }

    /// The same with what the text leaves out.
    #[must_use]
    pub fn completed(mut self) -> Service {
        if self.image.is_empty() {
            self.image.clone_from(&self.name);
        }
        if self.args.is_empty() {
            self.args = vec![self.image.clone()];
        }
        self
    }

    /// The path of a name that the program's manifest serves.
    #[must_use]
    pub fn path_of(&self, served: &str) -> String {
        match self.names.get(served) {
            Some(path) => path.clone(),
            None if served.starts_with('/') => served.to_string(),
            None => format!("/{served}"),
        }
    }

    /// What is wrong with its numbers and names, in words.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut bad = |text: String| problems.push(format!("service {:?}: {text}", self.name));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(plain) {
            bad("a name has 1 to 64 letters, digits, `-` and `_`".into());
        }
        if self.backoff.factor == 0 || self.backoff.factor > 100 {
            bad("backoff.factor is from 1 to 100".into());
        }
        if self.backoff.first_ms > self.backoff.most_ms {
            bad("backoff.first_ms is longer than backoff.most_ms; raise the latter".into());
        }
        if self.limit.restarts > MOST_RESTARTS {
            bad(format!(
                "limit.restarts is at most {MOST_RESTARTS}; 0 is no limit"
            ));
        }
        for (what, value) in [
            ("backoff.most_ms", self.backoff.most_ms),
            ("limit.within_ms", self.limit.within_ms),
            ("up_ms", self.up_ms),
            ("health_ms", self.health_ms),
            ("answer_ms", self.answer_ms),
        ] {
            if value > LONGEST_MS {
                bad(format!("{what} is at most {LONGEST_MS}, an hour"));
            }
        }
        if self.up_ms == 0 || self.answer_ms == 0 {
            bad("up_ms and answer_ms are at least 1: nothing takes no time".into());
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_longest_and_no_further() {
        let waits = |backoff: Backoff| [0, 1, 2, 9, 10, u32::MAX].map(|n| backoff.wait_ms(n));
        assert_eq!(waits(Backoff::default()), [10, 20, 40, 5000, 5000, 5000]);
        let same = Backoff {
            first_ms: 7,
            factor: 1,
            most_ms: 9,
        };
        assert_eq!(waits(same), [7; 6]);
        let none = Backoff {
            first_ms: 0,
            factor: 100,
            most_ms: 9,
        };
        assert_eq!(waits(none), [0; 6]);
        let large = Backoff {
            first_ms: LONGEST_MS - 1,
            factor: 100,
            most_ms: LONGEST_MS,
        };
        assert_eq!(large.wait_ms(1), LONGEST_MS);
    }

    #[test]
    fn what_a_text_leaves_out_has_defaults() {
        let service: Service = serde_json::from_str("{\"name\": \"clock\"}").unwrap();
        let service = service.completed();
        assert_eq!(service.image, "clock");
        assert_eq!(service.args, ["clock"]);
        assert_eq!(service.start, When::Demand);
        assert_eq!(service.restart, Restart::OnFailure);
        assert_eq!(service.path_of("clock"), "/clock");
        assert_eq!(service.path_of("/a/b"), "/a/b");
        assert_eq!(service.problems(), [""; 0]);
    }

    #[test]
    fn numbers_are_bounded() {
        for (text, word) in [
            (r#"{"name": "a/b"}"#, "letters"),
            (r#"{"name": "a", "backoff": {"factor": 0}}"#, "factor"),
            (
                r#"{"name": "a", "backoff": {"first_ms": 6000}}"#,
                "longer than",
            ),
            (
                r#"{"name": "a", "limit": {"restarts": 1001}}"#,
                "limit.restarts",
            ),
            (r#"{"name": "a", "up_ms": 3600001}"#, "up_ms is at most"),
            (r#"{"name": "a", "answer_ms": 0}"#, "at least 1"),
        ] {
            let service: Service = serde_json::from_str(text).unwrap();
            let problems = service.problems();
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert!(problems[0].contains(word), "{text}: {problems:?}");
        }
    }
}
