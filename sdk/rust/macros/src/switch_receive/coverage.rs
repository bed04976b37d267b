//! What the types of a switch's endpoints must promise so that its cases leave nothing out.
//!
//! The messages of a contract are unknown here. Known are those that cases name, and that every
//! channel can close; everything else is "another message". Of each combination for which no case
//! fires, either all parts are known, which is an error right here; or one of its endpoints must
//! have no other message, which the compiler finds out by [`Coverage::clauses`].

use std::collections::BTreeSet;

/// Combinations looked at; the constant that is evaluated when code is made has the same bound.
const MOST: usize = 20_000;

/// The result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// A combination that no case fires for: endpoint and message.
    Missing(Vec<(usize, String)>),
    /// Of each of these sets of endpoints, one must have no message but those that cases name.
    Clauses(Vec<BTreeSet<usize>>),
}

/// Looks at all combinations of what so many endpoints can bring. A case is a list of endpoint and
/// message.
pub(super) fn coverage(endpoints: usize, closed: &str, cases: &[Vec<(usize, String)>]) -> Coverage {
    let alone = |endpoint: usize, message: &str| {
        let single = |case: &Vec<(usize, String)>| matches!(&case[..], [(e, m)] if *e == endpoint && m == message);
        cases.iter().any(single)
    };
    // What an endpoint can bring and has no case of its own; `None` is another message.
    let mut options: Vec<Vec<Option<&str>>> = Vec::new();
    for endpoint in 0..endpoints {
        let mut known: Vec<Option<&str>> = Vec::new();
        let named = cases.iter().flatten().filter(|(e, _)| *e == endpoint);
        for name in named.map(|(_, m)| m.as_str()).chain([closed]) {
            if !alone(endpoint, name) && !known.contains(&Some(name)) {
                known.push(Some(name));
            }
        }
        known.push(None);
        options.push(known);
    }
    let mut clauses: Vec<BTreeSet<usize>> = Vec::new();
    let mut at = vec![0; endpoints];
    for _ in 0..MOST {
        let brings = |endpoint: usize| options[endpoint][at[endpoint]];
        let fires = cases
            .iter()
            .any(|case| case.iter().all(|(e, m)| brings(*e) == Some(m.as_str())));
        if !fires {
            let others: BTreeSet<usize> = (0..endpoints).filter(|e| brings(*e).is_none()).collect();
            if others.is_empty() {
                let parts = (0..endpoints).filter_map(|e| Some((e, brings(e)?.to_owned())));
                return Coverage::Missing(parts.collect());
            }
            if !clauses.iter().any(|known| known.is_subset(&others)) {
                clauses.retain(|known| !others.is_subset(known));
                clauses.push(others);
            }
        }
        let Some(next) = (0..endpoints).find(|e| at[*e] + 1 < options[*e].len()) else {
            return Coverage::Clauses(clauses);
        };
        at[next] += 1;
        at[..next].fill(0);
    }
    // Too many: the constant says so.
    Coverage::Clauses(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endpoints: usize, cases: &[&[(usize, &str)]]) -> Coverage {
        let own = |case: &&[(usize, &str)]| -> Vec<(usize, String)> {
            case.iter().map(|(e, m)| (*e, (*m).to_owned())).collect()
        };
        let cases: Vec<_> = cases.iter().map(own).collect();
        coverage(endpoints, "Closed", &cases)
    }

    fn clauses(all: &[&[usize]]) -> Coverage {
        Coverage::Clauses(all.iter().map(|c| c.iter().copied().collect()).collect())
    }

    #[test]
    fn one_endpoint_must_have_no_other_message() {
        assert_eq!(of(1, &[&[(0, "A")], &[(0, "Closed")]]), clauses(&[&[0]]));
        let missing = vec![(0, "Closed".to_owned())];
        assert_eq!(of(1, &[&[(0, "A")]]), Coverage::Missing(missing));
    }

    #[test]
    fn of_two_endpoints_one_is_enough() {
        let all: &[&[(usize, &str)]] =
            &[&[(0, "A")], &[(0, "Closed")], &[(1, "A")], &[(1, "Closed")]];
        assert_eq!(of(2, all), clauses(&[&[0, 1]]));
        // The close of the second has no case: the first must be complete.
        assert_eq!(of(2, &all[..3]), clauses(&[&[0]]));
    }

    #[test]
    fn the_papers_example_leaves_something_out() {
        let cases: &[&[(usize, &str)]] = &[
            &[(0, "Reply"), (1, "Reply")],
            &[(0, "Error")],
            &[(1, "Error")],
            &[(0, "Closed")],
        ];
        let missing = vec![(0, "Reply".to_owned()), (1, "Closed".to_owned())];
        assert_eq!(of(2, cases), Coverage::Missing(missing));
        // With a case for it, both must have no other: a reply of one may come with any of the other.
        let mut complete = cases.to_vec();
        complete.push(&[(1, "Closed")]);
        assert_eq!(of(2, &complete), clauses(&[&[0], &[1]]));
    }

    #[test]
    fn what_is_too_much_is_left_to_the_constant() {
        // Eleven endpoints bring one of three things each.
        let pairs = (1..12).map(|e| vec![(0, "B".to_owned()), (e, "A".to_owned())]);
        let mut cases: Vec<_> = pairs.collect();
        cases.extend(["B", "Closed"].map(|m| vec![(0, m.to_owned())]));
        assert_eq!(coverage(12, "Closed", &cases), Coverage::Clauses(vec![]));
        let of_one: Vec<_> = cases.split_off(11);
        let must = BTreeSet::from([0]);
        assert_eq!(
            coverage(1, "Closed", &of_one),
            Coverage::Clauses(vec![must])
        );
    }
}
