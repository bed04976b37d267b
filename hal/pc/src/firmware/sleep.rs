//! The sleep type of "soft off", from the bytes of a definition block.
//!
//! The type is the value of the object `\_S5`, which is byte code (AML). Firmware declares it as a
//! constant package at the top level, so its bytes can be recognised without an interpreter; if
//! they are not, the machine cannot be switched off.

/// The first bytes of `Name` and `Package` in byte code.
const NAME: u8 = 0x08;
const PACKAGE: u8 = 0x12;

/// The values for the two control registers (PM1a, PM1b), from the first definition of `\_S5` in a
/// block of byte code.
pub fn soft_off(code: &[u8]) -> Option<(u8, u8)> {
    code.windows(4).enumerate().find_map(|(at, name)| {
        if name != b"_S5_" {
            return None;
        }
        let declares = matches!(code[..at], [.., NAME] | [.., NAME, b'\\']);
        declares.then(|| package(&code[at + 4..])).flatten()
    })
}

/// The first two elements of a package of small constants.
fn package(code: &[u8]) -> Option<(u8, u8)> {
    let (&PACKAGE, rest) = code.split_first()? else {
        return None;
    };
    // The two highest bits give the number of further bytes of the length.
    let further = usize::from(rest.first()? >> 6);
    let (&count, mut rest) = rest.get(1 + further..)?.split_first()?;
    let first = constant(&mut rest)?;
    // A machine with one register may leave out the other's value.
    let second = if count > 1 { constant(&mut rest)? } else { 0 };
    (first < 8 && second < 8).then_some((first, second))
}

fn constant(rest: &mut &[u8]) -> Option<u8> {
    let (value, size) = match **rest {
        [0x00, ..] => (0, 1),
        [0x01, ..] => (1, 1),
        [0x0a, v, ..] => (v, 2),
        [0x0b, v, 0, ..] => (v, 3),
        [0x0c, v, 0, 0, 0, ..] => (v, 5),
        _ => return None,
    };
    *rest = &rest[size..];
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_packages_are_read() {
        let cases: [(&[u8], (u8, u8)); 5] = [
            (b"\x08_S5_\x12\x06\x04\0\0\0\0", (0, 0)),
            (b"x\x08\\_S5_\x12\x08\x04\x0a\x05\x0a\x05\0\0", (5, 5)),
            (b"\x08_S5_\x12\x08\x02\x0a\x07\x01", (7, 1)),
            (b"_S5_\x08_S5_\x12\x45\x00\x01\x0c\x03\0\0\0", (3, 0)),
            (b"\x08_S5_\x12\x08\x02\x0b\x06\0\x0a\x02", (6, 2)),
        ];
        for (code, types) in cases {
            assert_eq!(soft_off(code), Some(types), "{code:x?}");
        }
    }

    #[test]
    fn what_is_no_constant_package_is_not_guessed() {
        let code = b"\x08_S5_\x12\x06\x04\x0a\x05\x0a\x05\0\0";
        for cut in 0..code.len() - 2 {
            assert_eq!(soft_off(&code[..cut]), None, "{cut}");
        }
        for none in [
            &b"_S5_\x12\x06\x04\0\0\0\0"[..],    // used, not declared
            b"\x08_S5_\x13\x06\x04\0\0\0\0",     // no package
            b"\x08_S5_\x12\x06\x04\x0a\x09\0\0", // more than the register holds
            b"\x08_S5_\x12\x06\x04\x70\x60\0\0", // computed
            b"\x08_S4_\x12\x06\x04\0\0\0\0",
        ] {
            assert_eq!(soft_off(none), None, "{none:x?}");
        }
    }
}
