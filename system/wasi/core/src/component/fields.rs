//! `fields` of `wasi:http/types`: headers, by names in lower case.

use super::resources::Resource;
use super::{Component, Outcome, Room};
use alloc::vec::Vec;
use sing_sdk::web::{is_of_header_name, is_of_header_value};

/// `header-error`.
const SYNTAX: u8 = 0;
const FORBIDDEN: u8 = 1;
const IMMUTABLE: u8 = 2;

/// The longest name and value of a field, and the most fields of a list.
const LONGEST: usize = 64 << 10;
const MOST: usize = 1024;

/// Fields that belong to the connection, which is the web server's.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// A field: its name, and a value.
pub type Field = (Vec<u8>, Vec<u8>);

/// A list of fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    pub list: Vec<Field>,
    pub immutable: bool,
}

impl Fields {
    pub fn bytes(&self) -> usize {
        self.list.iter().map(size).sum()
    }
}

/// Whether a field belongs to the connection.
pub(crate) fn is_of_connection(name: &[u8]) -> bool {
    let is = |own: &&str| name.eq_ignore_ascii_case(own.as_bytes());
    OF_CONNECTION.iter().any(is)
}

pub(super) fn size((name, value): &Field) -> usize {
    // The two vectors count, too.
    name.len() + value.len() + 64
}

impl<H: Room> Component<H> {
    /// A list of fields, as a resource.
    pub(super) fn add_fields(&mut self, list: Vec<Field>, immutable: bool) -> Outcome<u32> {
        self.table.add(Resource::Fields(Fields { list, immutable }))
    }

    /// `[constructor]fields`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn new_fields(&mut self) -> Outcome<u32> {
        self.add_fields(Vec::new(), false)
    }

    /// Takes a field's name, in lower case; or why it is none.
    fn name(&mut self, at: u32, len: u32) -> Outcome<core::result::Result<Vec<u8>, u8>> {
        let mut name = self.take(at, len, LONGEST)?;
        name.make_ascii_lowercase();
        let of_token = name.iter().copied().all(is_of_header_name);
        Ok(match of_token && !name.is_empty() {
            false => Err(SYNTAX),
            true if is_of_connection(&name) => Err(FORBIDDEN),
            true => Ok(name),
        })
    }

    /// Takes a field's value; or that it is none. The web server's fields are texts: what is no UTF-8 is
    /// refused, too.
    fn value(&mut self, at: u32, len: u32) -> Outcome<core::result::Result<Vec<u8>, u8>> {
        let value = self.take(at, len, LONGEST)?;
        let is_text = core::str::from_utf8(&value).is_ok();
        Ok(
            match is_text && value.iter().copied().all(is_of_header_value) {
                true => Ok(value),
                false => Err(SYNTAX),
            },
        )
    }

    /// Answers `result<_, header-error>`.
    fn changed(&mut self, out: u32, changed: core::result::Result<(), u8>) -> Outcome {
        match changed {
            Ok(()) => self.put(out, &[0]),
            Err(why) => self.put(out, &[1, why]),
        }
    }

    /// `[static]fields.from-list`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_of_list(&mut self, list: u32, count: u32, out: u32) -> Outcome {
        self.range(list, u64::from(count) * 16)?;
        if count as usize > MOST {
            return Err("makes more than 1024 fields at once".into());
        }
        let mut fields = Vec::new();
        for number in 0..u64::from(count) {
            let at = u64::from(list) + number * 16;
            let (name, name_len) = (self.number(at)?, self.number(at + 4)?);
            let (value, value_len) = (self.number(at + 8)?, self.number(at + 12)?);
            let field = match (self.name(name, name_len)?, self.value(value, value_len)?) {
                (Ok(name), Ok(value)) => (name, value),
                (Err(why), _) | (_, Err(why)) => {
                    self.put(out, &[1])?;
                    return self.put_at(out, 4, &[why]);
                }
            };
            fields.push(field);
        }
        let handle = self.add_fields(fields, false)?;
        self.put(out, &[0])?;
        self.put_at(out, 4, &handle.to_le_bytes())
    }

    /// `get`: the values under a name.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_get(&mut self, fields: u32, (name, len): (u32, u32), out: u32) -> Outcome {
        let mut name = self.take(name, len, LONGEST)?;
        name.make_ascii_lowercase();
        let list = &self.table.fields(fields)?.list;
        let found: Vec<Vec<u8>> = list
            .iter()
            .filter(|field| field.0 == name)
            .map(|field| field.1.clone())
            .collect();
        let list = self.list(&found, 8, |component, at, value| {
            let value = component.place(value)?;
            component.put(at, &value)
        })?;
        self.put(out, &list)
    }

    /// `has`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_has(&mut self, fields: u32, name: u32, len: u32) -> Outcome<u32> {
        let mut name = self.take(name, len, LONGEST)?;
        name.make_ascii_lowercase();
        let list = &self.table.fields(fields)?.list;
        Ok(list.iter().any(|field| field.0 == name).into())
    }

    /// Changes fields: those of a name go, if they are to, and these come.
    fn change(
        &mut self,
        fields: u32,
        name: &[u8],
        replace: bool,
        add: Vec<Field>,
    ) -> Outcome<core::result::Result<(), u8>> {
        let of = self.table.fields(fields)?;
        if of.immutable {
            return Ok(Err(IMMUTABLE));
        }
        let before = of.bytes();
        if replace {
            of.list.retain(|field| field.0 != name);
        }
        if of.list.len() + add.len() > MOST {
            return Err("has more than 1024 fields in a list".into());
        }
        of.list.extend(add);
        let after = of.bytes();
        self.table.shrink(before);
        self.table.grow(after)?;
        Ok(Ok(()))
    }

    /// `set`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_set(
        &mut self,
        fields: u32,
        (name, len): (u32, u32),
        (list, count): (u32, u32),
        out: u32,
    ) -> Outcome {
        self.range(list, u64::from(count) * 8)?;
        if count as usize > MOST {
            return Err("makes more than 1024 fields at once".into());
        }
        let name = match self.name(name, len)? {
            Ok(name) => name,
            Err(why) => return self.changed(out, Err(why)),
        };
        let mut values = Vec::new();
        for number in 0..u64::from(count) {
            let at = u64::from(list) + number * 8;
            let (value, len) = (self.number(at)?, self.number(at + 4)?);
            match self.value(value, len)? {
                Ok(value) => values.push((name.clone(), value)),
                Err(why) => return self.changed(out, Err(why)),
            }
        }
        let changed = self.change(fields, &name, true, values)?;
        self.changed(out, changed)
    }

    /// `delete`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_delete(&mut self, fields: u32, (name, len): (u32, u32), out: u32) -> Outcome {
        let changed = match self.name(name, len)? {
            Ok(name) => self.change(fields, &name, true, Vec::new())?,
            Err(why) => Err(why),
        };
        self.changed(out, changed)
    }

    /// `append`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_append(
        &mut self,
        fields: u32,
        (name, len): (u32, u32),
        (value, value_len): (u32, u32),
        out: u32,
    ) -> Outcome {
        let changed = match (self.name(name, len)?, self.value(value, value_len)?) {
            (Ok(name), Ok(value)) => {
                let field = (name.clone(), value);
                self.change(fields, &name, false, Vec::from([field]))?
            }
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        self.changed(out, changed)
    }

    /// `entries`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_entries(&mut self, fields: u32, out: u32) -> Outcome {
        let all = self.table.fields(fields)?.list.clone();
        let list = self.list(&all, 16, |component, at, (name, value)| {
            let (name, value) = (component.place(name)?, component.place(value)?);
            component.put(at, &name)?;
            component.put_at(at, 8, &value)
        })?;
        self.put(out, &list)
    }

    /// `clone`: one that can be changed.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn fields_clone(&mut self, fields: u32) -> Outcome<u32> {
        let list = self.table.fields(fields)?.list.clone();
        self.add_fields(list, false)
    }
}
