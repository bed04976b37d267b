//! Random operations, each compared with a simple model, with mounts in between.

use crate::checks::{Check, Test};
use crate::stage::Stage;
use alloc::collections::BTreeMap;
use sing_sdk::fs::{Directory, Options};
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[("random operations", random)];

/// A generator of numbers (SplitMix64).
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What there is: a directory is `None`, a file its bytes.
type Model = BTreeMap<String, Option<Vec<u8>>>;

const OPERATIONS: usize = 3000;

/// One of few paths, so that operations meet.
fn path(draw: &mut Draw) -> String {
    let name = |draw: &mut Draw| ["a", "b", "c", "d"][draw.below(4) as usize];
    let mut path = String::from(name(draw));
    for _ in 0..draw.below(3) {
        path.push('/');
        path.push_str(name(draw));
    }
    path
}

fn above(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

fn is_directory(model: &Model, path: Option<&str>) -> bool {
    path.is_none_or(|path| matches!(model.get(path), Some(None)))
}

fn empty(model: &Model, path: &str) -> bool {
    let below = format!("{path}/");
    !model.keys().any(|other| other.starts_with(&below))
}

/// Makes one operation with both; whether they agree.
fn operate(draw: &mut Draw, root: &mut Directory, model: &mut Model) -> Check {
    let path = path(draw);
    let there = model.get(&path).cloned();
    let has_place = is_directory(model, above(&path));
    Ok(match draw.below(10) {
        0 => {
            let may = there.is_none() && has_place;
            if may {
                model.insert(path.clone(), None);
            }
            root.make_directory(&path).is_ok() == may
        }
        1 => {
            let may = matches!(there, Some(Some(_)));
            if may {
                model.remove(&path);
            }
            root.remove(&path).is_ok() == may
        }
        2 => {
            let may = matches!(there, Some(None)) && empty(model, &path);
            if may {
                model.remove(&path);
            }
            root.remove_directory(&path).is_ok() == may
        }
        3 => rename(draw, root, model, &path)?,
        4 => match (there, root.open_file(&path)) {
            (Some(Some(bytes)), Ok(mut file)) => file.read_to_end()? == bytes,
            (Some(Some(_)), Err(_)) => false,
            (_, opened) => opened.is_err(),
        },
        kind => {
            let may = has_place && !matches!(there, Some(None));
            match root.open_with(&path, Options::create()) {
                Err(_) => !may,
                Ok(_) if !may => false,
                Ok(mut file) => {
                    let mut bytes = there.flatten().unwrap_or_default();
                    let (at, len) = (draw.below(50_000) as usize, draw.below(20_000) as usize);
                    let fill = vec![draw.next() as u8; len];
                    match kind {
                        5 | 6 => {
                            file.write_at(at as u64, &fill)?;
                            if len > 0 {
                                bytes.resize(bytes.len().max(at + len), 0);
                                bytes[at..at + len].copy_from_slice(&fill);
                            }
                        }
                        7 => {
                            file.append(&fill)?;
                            bytes.extend_from_slice(&fill);
                        }
                        8 => {
                            file.set_size(at as u64)?;
                            bytes.resize(at, 0);
                        }
                        _ => file.sync()?,
                    }
                    let mut some = vec![0; len];
                    let count = file.read_at(at as u64, &mut some)?;
                    let want = bytes.get(at..).unwrap_or_default();
                    let agrees = count == want.len().min(len) && some[..count] == want[..count];
                    model.insert(path, Some(bytes));
                    agrees
                }
            }
        }
    })
}

fn rename(draw: &mut Draw, root: &mut Directory, model: &mut Model, from: &str) -> Check {
    let to = path(draw);
    let below = format!("{from}/");
    let what = model.get(from).cloned();
    let target = model.get(&to).cloned();
    let fits = match (&what, &target) {
        (None, _) => false,
        (_, None) => true,
        (Some(Some(_)), Some(other)) => other.is_some(),
        (Some(None), Some(other)) => other.is_none() && (to == from || empty(model, &to)),
    };
    let may = fits && is_directory(model, above(&to)) && !to.starts_with(&below);
    if may && to != from {
        let moved: Vec<String> = model
            .keys()
            .filter(|k| k.starts_with(&below))
            .cloned()
            .collect();
        for key in moved {
            let value = model.remove(&key).flatten();
            model.insert(format!("{to}/{}", &key[below.len()..]), value);
        }
        model.remove(from);
        model.insert(to.clone(), what.flatten());
    }
    Ok(root.rename(from, &to).is_ok() == may)
}

/// Whether all that there is is what the model has.
fn same(root: &mut Directory, model: &Model) -> Check {
    let mut seen = 0;
    let mut open = vec![String::new()];
    while let Some(above) = open.pop() {
        let mut directory = root.open_directory(&above)?;
        let entries: Vec<_> = directory.list().collect::<Result<_, _>>()?;
        for entry in entries {
            let path = if above.is_empty() {
                entry.name
            } else {
                format!("{above}/{}", entry.name)
            };
            seen += 1;
            match model.get(&path) {
                None => return Ok(false),
                Some(None) => open.push(path),
                Some(Some(bytes)) => {
                    if root.open_file(&path)?.read_to_end()? != *bytes {
                        return Ok(false);
                    }
                }
            }
        }
    }
    Ok(seen == model.len())
}

fn random() -> Check {
    let seed = sing_sdk::time::cycle_count();
    let mut draw = Draw(seed);
    let mut stage = Stage::new(16)?;
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let mut model = Model::new();
    let mut root = Some(stage.root()?);
    for number in 1..=OPERATIONS {
        let open = root.as_mut().ok_or(Error::Closed)?;
        let agrees = operate(&mut draw, open, &mut model)?;
        let whole = !number.is_multiple_of(300) || same(open, &model)?;
        if !agrees || !whole {
            println!("filetest: seed {seed}: operation {number} differs");
            return Ok(false);
        }
        if number.is_multiple_of(1000) {
            drop(root.take());
            let unmounted = stage.control.unmount(&at, false)?;
            let checked = stage.control.check(&disk)?;
            if unmounted != Ok(()) || checked != Ok((0, String::new())) {
                println!("filetest: seed {seed}: {unmounted:?}, {checked:?}");
                return Ok(false);
            }
            if stage.control.mount(&disk, &at, false)? != Ok(()) {
                return Ok(false);
            }
            root = Some(stage.root()?);
        }
    }
    Ok(root.is_some_and(|mut root| same(&mut root, &model).unwrap_or(false)))
}
