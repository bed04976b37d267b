//! Line programs: which line each address comes from.

use super::sections::{Bytes, Sections};
use super::units::{Unit, Units};
use super::{Left, MOST_HEADER, MOST_ROWS, Read, Source, Spot, Work, paths};
use gimli::{
    DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian, Reader as _,
};
use std::collections::HashMap;

/// The files that a unit names by numbers.
pub(super) struct Files<'a> {
    header: LineProgramHeader<Bytes<'a>>,
    numbers: HashMap<u64, u32>,
}

/// Reads the line program of a unit into `source`; returns its files. `None` if it has no program,
/// or shares that of another unit.
pub(super) fn read<'a>(
    source: &mut Source,
    sections: &Sections<'a>,
    units: &Units<'a>,
    index: usize,
    work: &mut Work,
) -> Read<Option<Files<'a>>> {
    let unit = &units.list[index];
    let Some(start) = unit.program else {
        return Ok(None);
    };
    let bytes = match units.programs.get(&start) {
        Some(&(end, of)) if of == index => sections.lines.get(start..end).unwrap_or(&[]),
        _ => return Ok(None),
    };
    check_header(EndianSlice::new(bytes, LittleEndian))?;
    let size = unit.header.address_size();
    let program = DebugLine::new(bytes, LittleEndian);
    let program = program.program(DebugLineOffset(0), size, None, None)?;
    let mut files = Files {
        header: program.header().clone(),
        numbers: HashMap::new(),
    };
    let mut rows = program.rows();
    // Where in the list the sequence begins that is being read.
    let mut from = source.spots.len();
    while let Some((_, row)) = rows.next_row()? {
        let ends = row.end_sequence();
        if source.spots.len() >= MOST_ROWS {
            return Err(Left::TooLarge("rows"));
        }
        let file = match ends {
            true => 0,
            false => files.number(row.file_index(), source, sections, unit, work)?,
        };
        let line = row.line().map_or(0, std::num::NonZeroU64::get);
        source.spots.push(Spot {
            // What is out of range is left out with its sequence.
            address: u32::try_from(row.address()).unwrap_or(u32::MAX),
            file,
            line: u32::try_from(line).unwrap_or(0),
        });
        if ends {
            let sequence = &source.spots[from..];
            // Functions that the linker removed are at other places.
            let is_live = sequence
                .first()
                .is_some_and(|s| source.code.contains(&s.address))
                && sequence
                    .last()
                    .is_some_and(|s| s.address <= source.code.end)
                && sequence.is_sorted_by_key(|s| s.address);
            if !is_live {
                source.spots.truncate(from);
            }
            from = source.spots.len();
        }
    }
    // One that does not end is no sequence.
    source.spots.truncate(from);
    Ok(Some(files))
}

/// Refuses a header that takes more memory than its bytes account for: entries of no bytes, as many
/// as it says.
fn check_header(mut bytes: Bytes<'_>) -> Read<()> {
    let (len, format) = bytes.read_initial_length()?;
    if format == gimli::Format::Dwarf64 {
        return Err(Left::Unknown("offsets of 64 bits"));
    }
    bytes.truncate(len)?;
    let version = bytes.read_u16()?;
    if version >= 5 {
        bytes.skip(2)?;
    }
    let len = bytes.read_u32()? as usize;
    bytes.truncate(len)?;
    if len > MOST_HEADER {
        return Err(Left::TooLarge("bytes in one list of files"));
    }
    if version < 5 {
        return Ok(());
    }
    // Three bytes of sizes, two of lines, and the lengths of operations.
    bytes.skip(5)?;
    let operations = bytes.read_u8()?;
    bytes.skip(usize::from(operations.saturating_sub(1)))?;
    for _ in ["folders", "files"] {
        let mut forms = Vec::new();
        for _ in 0..bytes.read_u8()? {
            let _content = bytes.read_uleb128()?;
            forms.push(gimli::DwForm(bytes.read_uleb128_u16()?));
        }
        let count = bytes.read_uleb128()?;
        if forms.is_empty() && count > 0 {
            return Err(Left::Unknown("lists of files without a form"));
        }
        for _ in 0..count {
            for &form in &forms {
                skip(&mut bytes, form)?;
            }
        }
    }
    Ok(())
}

/// Skips a value, which takes at least a byte.
fn skip(bytes: &mut Bytes<'_>, form: gimli::DwForm) -> Read<()> {
    let size = match form {
        gimli::DW_FORM_string => bytes.read_null_terminated_slice().map(|_| 0)?,
        gimli::DW_FORM_udata | gimli::DW_FORM_strx => bytes.read_uleb128().map(|_| 0)?,
        gimli::DW_FORM_block => usize::try_from(bytes.read_uleb128()?).unwrap_or(usize::MAX),
        gimli::DW_FORM_data1 | gimli::DW_FORM_strx1 => 1,
        gimli::DW_FORM_data2 | gimli::DW_FORM_strx2 => 2,
        gimli::DW_FORM_strx3 => 3,
        gimli::DW_FORM_data4
        | gimli::DW_FORM_strx4
        | gimli::DW_FORM_strp
        | gimli::DW_FORM_line_strp => 4,
        gimli::DW_FORM_data8 => 8,
        gimli::DW_FORM_data16 => 16,
        _ => return Err(Left::Unknown("lists of files of this form")),
    };
    Ok(bytes.skip(size)?)
}

impl<'a> Files<'a> {
    /// The number of the path of a file, plus 1; 0 if the unit has no such file.
    pub(super) fn number(
        &mut self,
        file: u64,
        source: &mut Source,
        sections: &Sections<'a>,
        unit: &Unit<'a>,
        work: &mut Work,
    ) -> Read<u32> {
        if let Some(&number) = self.numbers.get(&file) {
            return Ok(number);
        }
        let number = match self.header.file(file) {
            None => 0,
            Some(entry) => {
                let name = sections.text(&entry.path_name(), unit.texts);
                let folder = entry.directory(&self.header);
                let folder = folder.map_or_else(String::new, |f| sections.text(&f, unit.texts));
                work.spend(unit.folder.len() + folder.len() + name.len())?;
                let path = paths::of_file(&unit.folder, &folder, &name);
                source.texts.number(path)?
            }
        };
        // As many as the header has, and one for each other number that a row has.
        if self.numbers.len() < MOST_HEADER {
            self.numbers.insert(file, number);
        }
        Ok(number)
    }
}
