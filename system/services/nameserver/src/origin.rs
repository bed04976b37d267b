//! Origins: which program asks, and what kind it is of.
//!
//! An origin is the number of a program's first client. Two bits above the numbers tell kinds apart:
//! no program can state one of itself.

use sing_sdk::share::SYSTEM;

/// Set in origins that a name server above states, so that they are not those of clients here.
const FROM_ABOVE: u32 = 1 << 30;
/// Set in origins of programs that the service manager has started.
const SERVICE: u32 = 1 << 29;
// Numbers of clients have neither bit.
const _: () = assert!(crate::NUMBERS <= SERVICE);

/// The origin of what the name server above states.
#[must_use]
pub const fn from_above(stated: u32) -> u32 {
    match stated {
        SYSTEM => SYSTEM,
        stated => stated | FROM_ABOVE,
    }
}

/// The origin of a service whose first client has this number.
#[must_use]
pub const fn of_service(number: u32) -> u32 {
    number | SERVICE
}

/// Whether this origin is a program that the service manager has started.
#[must_use]
pub const fn is_service(origin: u32) -> bool {
    origin & SERVICE != 0
}

/// Whether this origin may serve the root: the system, and the services of its manager.
#[must_use]
pub const fn may_mount_root(origin: u32) -> bool {
    origin == SYSTEM || is_service(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_system_and_its_services_serve_the_root() {
        let numbers = [1, 7, crate::NUMBERS - 1];
        for number in numbers {
            assert!(!may_mount_root(number) && !may_mount_root(from_above(number)));
            let service = of_service(number);
            assert!(may_mount_root(service) && may_mount_root(from_above(service)));
            // None is that of another program.
            let all = [number, from_above(number), service, from_above(service)];
            assert!((0..4).all(|i| !all[..i].contains(&all[i])));
        }
        assert!(may_mount_root(SYSTEM) && may_mount_root(from_above(SYSTEM)));
    }
}
