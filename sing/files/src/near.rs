//! The name that may be meant where there is none of a name.

/// Edits between a name and the one that may be meant, at most.
const SLIP: usize = 2;
/// The longest name that is compared, in bytes: distances are the product of lengths in time.
const LONGEST: usize = 100;

/// The nearest of these names, if one is near.
#[must_use]
pub fn near<'a>(name: &str, all: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short = |other: &&str| name.len() <= LONGEST && other.len() <= LONGEST;
    let distances = all.into_iter().filter(short).filter_map(|other| {
        let distance = strsim::osa_distance(name, other);
        (distance <= SLIP.min(other.len() / 2)).then_some((distance, other))
    });
    distances.min().map(|(_, other)| other)
}

/// `; did you mean …?`, if a name is near.
#[must_use]
pub fn did_you_mean<'a>(name: &str, all: impl IntoIterator<Item = &'a str>) -> String {
    near(name, all).map_or_else(String::new, |other| format!("; did you mean `{other}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let all = ["run", "test", "image", "q35"];
        for (name, other) in [
            ("rnu", Some("run")),
            ("tset", Some("test")),
            ("imgae", Some("image")),
            ("ru", Some("run")),
            ("walk", None),
            ("", None),
        ] {
            assert_eq!(near(name, all), other, "{name}");
        }
        assert_eq!(near(&"x".repeat(10_000), all), None);
        assert_eq!(did_you_mean("rnu", all), "; did you mean `run`?");
        assert_eq!(did_you_mean("walk", all), "");
    }
}
