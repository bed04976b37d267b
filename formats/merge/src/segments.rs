//! Data segments of a program that has as many as a module may have.
//!
//! Go's linker makes 100,000 of them at most, which is the limit of every engine, and the adapter has some
//! of its own. So neighbours among the program's become one, as many as have to: with zeros for the
//! bytes between them. Nothing can tell the difference: the bytes were zero before, as no segment up to
//! there lies above them, and what comes later is written later still. It can be done where no code names
//! data segments by their numbers, which takes a section that counts them.

use crate::Error;
use crate::parts::Parts;
use sing_image::limits;
use wasm_encoder as we;
use wasmparser as wp;

/// The most bytes between two segments that become one.
const BETWEEN: u64 = 4096;

/// A segment of memory 0 at a known address.
struct Active {
    at: u64,
    bytes: Vec<u8>,
}

impl Active {
    /// If a segment is one.
    fn of(data: &wp::Data<'_>) -> Result<Option<Active>, Error> {
        let wp::DataKind::Active {
            memory_index: 0,
            offset_expr,
        } = &data.kind
        else {
            return Ok(None);
        };
        let mut operators = offset_expr.get_operators_reader();
        let wp::Operator::I32Const { value } = operators.read()? else {
            return Ok(None);
        };
        if !matches!(operators.read()?, wp::Operator::End) {
            return Ok(None);
        }
        Ok(Some(Active {
            at: u64::from(value.cast_unsigned()),
            bytes: data.data.to_vec(),
        }))
    }

    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    fn put(&self, section: &mut we::DataSection) {
        // From an address of 32 bits.
        let at = u32::try_from(self.at).unwrap_or(u32::MAX);
        let offset = we::ConstExpr::i32_const(at.cast_signed());
        section.active(0, &offset, self.bytes.iter().copied());
    }
}

/// The program's segments, if they and so many others are more than a module may have: fewer by what is
/// too much, or by as many as can be joined.
pub(crate) fn joined(program: &Parts<'_>, others: u32) -> Result<Option<we::DataSection>, Error> {
    let Some(all) = program.data.clone() else {
        return Ok(None);
    };
    let most = u32::try_from(limits::DATA_SEGMENTS.most).unwrap_or(u32::MAX);
    let mut more = (all.count() + others).saturating_sub(most);
    if more == 0 || program.counts_data {
        return Ok(None);
    }
    let mut section = we::DataSection::new();
    let mut last: Option<Active> = None;
    // The end of the highest segment until now.
    let mut highest = 0;
    for data in all {
        let data = data?;
        let Some(next) = Active::of(&data)? else {
            // As it stands, in its place among the others; no gap behind it is known to be clean.
            return Ok(None);
        };
        match &mut last {
            Some(last) if more > 0 && follows(last, &next, highest) => {
                // `follows` says how much it is.
                let at = usize::try_from(next.at - last.at).unwrap_or_default();
                last.bytes.resize(at, 0);
                last.bytes.extend(&next.bytes);
                more -= 1;
            }
            last => {
                if let Some(done) = last.replace(next) {
                    done.put(&mut section);
                }
            }
        }
        highest = highest.max(last.as_ref().map_or(0, Active::end));
    }
    if let Some(done) = last {
        done.put(&mut section);
    }
    Ok(Some(section))
}

/// Whether a segment lies close above the last one, and nothing yet lies between them.
fn follows(last: &Active, next: &Active, highest: u64) -> bool {
    last.end() == highest && next.at >= highest && next.at - highest <= BETWEEN
}
