//! What code is, for people: the function that an address lies in, and the lines of its text.

use super::{Installed, REGISTRY};
use core::ops::Range;
use sing_image::lines::Place;

/// What an address in the code arena belongs to.
pub(crate) struct At {
    /// The image.
    pub(crate) image: &'static Installed,
    /// The name of the function whose code holds the address.
    pub(crate) function: &'static str,
    /// The address, from the start of the image's code.
    offset: u32,
}

impl At {
    /// The places in the program's text, from the innermost inlined function to this one, as far as
    /// the image knows them.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place<'static>> + use<> {
        self.image.lines.at(self.offset)
    }
}

impl Installed {
    /// Its functions: the addresses of each one's code, and its name.
    pub(super) fn functions(&self) -> impl Iterator<Item = (Range<u64>, &str)> {
        let start = self.template.code().start;
        self.template.meta().funcs.iter().map(move |f| {
            let at = start + u64::from(f.offset);
            (at..at + u64::from(f.size), &*f.name)
        })
    }
}

/// Returns what the code at this address belongs to.
pub(crate) fn function_at(pc: u64) -> Option<At> {
    let registry = REGISTRY.lock();
    let (base, image) = registry.by_code.range(..=pc).next_back()?;
    let offset = u32::try_from(pc - base).ok()?;
    let function = &image.template.meta().func_at(offset)?.name;
    Some(At {
        image,
        function,
        offset,
    })
}
