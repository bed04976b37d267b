//! Services and wards in one row: the services of the plan come first, the wards behind them.

/// Who stands at a position of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervised {
    /// A service, by its position in the plan: a child of the manager, whose end the manager notes before it says
    /// or does anything about it.
    Service(usize),
    /// A ward, by its position among them: its end is noted by who watches over it.
    Ward(usize),
}

impl Supervised {
    /// Who is at a position, where there are so many services.
    #[must_use]
    pub fn at(position: usize, services: usize) -> Supervised {
        match position.checked_sub(services) {
            None => Supervised::Service(position),
            Some(ward) => Supervised::Ward(ward),
        }
    }

    /// Its position.
    #[must_use]
    pub fn position(self, services: usize) -> usize {
        match self {
            Supervised::Service(at) => at,
            Supervised::Ward(at) => services + at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wards_stand_behind_all_services() {
        for services in [0, 1, 7] {
            for at in 0..10 {
                let who = Supervised::at(at, services);
                let is_service = matches!(who, Supervised::Service(_));
                assert_eq!(is_service, at < services, "{at} of {services}");
                assert_eq!(who.position(services), at);
            }
        }
        assert_eq!(Supervised::at(7, 7), Supervised::Ward(0));
        assert_eq!(Supervised::at(6, 7), Supervised::Service(6));
    }
}
