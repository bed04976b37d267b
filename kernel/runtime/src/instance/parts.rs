//! What an instance has memory of its own for: its tables, and marks of segments that have been
//! dropped.

use super::{Further, Inner};
use crate::template::InitialTable;
use crate::{Charged, NoRoom, Payer, Table};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_image::limits;
use sing_image::meta::Linkage;

/// Where tables and functions are.
pub(crate) enum Parts {
    /// Most programs have one table: it needs no allocation of its own.
    Sealed {
        first: Option<Table>,
        more: Charged<Table>,
        /// Memories behind the first.
        further: Charged<Further>,
    },
    /// Shared with other instances.
    #[cfg(any(test, feature = "open"))]
    Open(crate::open::OpenParts),
}

/// Which segments have been dropped: a bit for each. Nothing is allocated where there are none to
/// drop.
#[derive(Default)]
pub(super) struct Dropped(Charged<AtomicU32>);

impl Dropped {
    fn new(segments: usize, payer: &'static dyn Payer) -> Result<Dropped, NoRoom> {
        let words = segments.div_ceil(32);
        Charged::from_fn(words, payer, |_| AtomicU32::new(0)).map(Dropped)
    }

    pub(super) fn set(&self, i: u32) {
        if let Some(word) = self.0.get(i as usize / 32) {
            word.fetch_or(1 << (i % 32), Relaxed);
        }
    }

    pub(super) fn get(&self, i: u32) -> bool {
        self.0
            .get(i as usize / 32)
            .is_some_and(|word| word.load(Relaxed) & 1 << (i % 32) != 0)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Inner {
    /// Gives it what has memory of its own: marks of segments that can be dropped, the tables of a
    /// sealed image.
    pub(super) fn furnish(&mut self) -> Result<(), NoRoom> {
        let (template, payer) = (&*self.template, self.payer);
        let meta = template.meta();
        let (passive_data, passive_elements) = match meta.linkage {
            Linkage::Sealed => template.sealed.passive,
            Linkage::Open => (true, true),
        };
        if passive_data {
            self.dropped_data = Dropped::new(meta.data.len(), payer)?;
        }
        if passive_elements {
            self.dropped_elements = Dropped::new(meta.elements.len(), payer)?;
        }
        let (first, more) = match &mut self.parts {
            Parts::Sealed { first, more, .. } => (first, more),
            #[cfg(any(test, feature = "open"))]
            Parts::Open(_) => return Ok(()),
        };
        let empty =
            |t: &InitialTable| Table::empty(t.ty, limits::TABLE_ELEMENTS.most as u32, payer);
        let Some((initial, others)) = template.sealed.tables.split_first() else {
            return Ok(());
        };
        first.insert(empty(initial)).begin(&initial.elements)?;
        more.reserve_exact(others.len(), payer)?;
        for initial in others {
            let mut table = empty(initial);
            table.begin(&initial.elements)?;
            more.push(table, payer)?;
        }
        Ok(())
    }
}
