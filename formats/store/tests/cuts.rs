//! The power is cut at every write of a workload, and again while the system comes back: all that
//! was synced is there, and no contradiction.

mod common;

use common::model::{Model, Step, Tree, check, contents, step, tidy_all, tree};
use common::recorded::{Event, Recorded, Replay};
use common::{Ram, options};
use sing_store::{Kind, MountOptions, NodeId, Store};

/// A point of the workload: after so many events of the disk, the model was this.
struct Point {
    events: usize,
    model: Model,
    tree: Tree,
    synced: bool,
}

const BYTES: usize = 2 << 20;

fn mount_options(random: &mut fastrand::Rng) -> MountOptions {
    MountOptions {
        cache: 1 << 18,
        changes: random.usize(32..200),
        verify: random.bool(),
        ..MountOptions::default()
    }
}

fn point(disk: &Recorded, model: &Model, synced: bool) -> Point {
    // The contents of what is held without a name count, too: it may still have its name on the
    // disk.
    let model = model.clone();
    Point {
        events: disk.count(),
        tree: model.tree(),
        model,
        synced,
    }
}

/// The names, without the sizes of files: an operation of several steps may sync between them, and
/// then the file has a size between the old and the new.
fn names(tree: &Tree) -> Tree {
    let mut names = tree.clone();
    for (_, kind, _, size) in names.values_mut() {
        if *kind == Kind::File {
            *size = 0;
        }
    }
    names
}

/// Looks at what a cut has left; `points` are the states from the last sync before the cut to the
/// operation that the cut was in.
fn verify(store: &mut Store<Recorded>, points: &[Point]) {
    let found = tree(store);
    let wanted = names(&found);
    let Some(first) = points.iter().position(|p| names(&p.tree) == wanted) else {
        let last = &points[points.len() - 1];
        panic!(
            "{found:#?}\nis no state from {:#?}\nto {:#?}",
            points[0].tree, last.tree
        );
    };
    for (path, (id, kind, _, size)) in &found {
        if *kind == Kind::File {
            let versions = points[first..].iter().filter_map(|p| p.model.nodes.get(id));
            let sizes: Vec<u64> = versions.map(|node| node.data.len() as u64).collect();
            let fits = sizes.iter().min() <= Some(size) && Some(size) <= sizes.iter().max();
            assert!(fits, "{path} has {size} bytes, not one of {sizes:?}");
        }
        if *kind != Kind::Directory {
            let data = contents(store, *id);
            verify_data(path, *id, &data, &points[first..]);
        }
    }
    check(store);
    tidy_all(store);
    check(store);
}

/// Each sector is of that state or of a later one. If the file was cut off meanwhile, what lies
/// beyond is still the old, or zeros.
fn verify_data(path: &str, id: NodeId, data: &[u8], points: &[Point]) {
    let versions: Vec<_> = points
        .iter()
        .filter_map(|p| p.model.nodes.get(&id))
        .collect();
    for (index, sector) in data.chunks(512).enumerate() {
        let fits = versions.iter().any(|version| {
            sector.iter().enumerate().all(|(i, byte)| {
                let at = index * 512 + i;
                match version.data.get(at) {
                    Some(new) => new == byte,
                    None => *byte == 0 || versions.iter().any(|v| v.data.get(at) == Some(byte)),
                }
            })
        });
        assert!(
            fits,
            "{path}: sector {index} is of no state since the last sync"
        );
    }
}

/// A workload; returns how many cuts it was put through.
fn workload(seed: u64, operations: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let Ram(image) = Store::format(Ram::new(BYTES), &options()).expect("format");
    let disk = Recorded::new(image.clone());
    let mut store = Store::mount(disk.clone(), &mount_options(&mut random)).expect("mount");
    let mut model = Model::new();
    let mut points = vec![point(&disk, &model, true)];
    points[0].events = 0;
    for _ in 0..operations {
        let done = step(&mut store, &mut model, &mut random, |_| false);
        points.push(point(&disk, &model, done == Step::Synced));
    }
    let mut replay = Replay::new(image);
    let mut cuts = 0;
    for (index, event) in disk.events().iter().enumerate() {
        replay.apply(event);
        // What is known to be synced after `index + 1` events, and what may be.
        let before = points.partition_point(|p| p.events <= index + 1);
        let synced = points[..before].iter().rposition(|p| p.synced).unwrap_or(0);
        let upto = (before + 1).min(points.len());
        let times = if matches!(event, Event::Flush) { 1 } else { 2 };
        for _ in 0..times {
            cuts += 1;
            let left = Recorded::new(replay.cut(&mut random));
            cuts += come_back(left, &points[synced..upto], &mut random, 2);
        }
    }
    cuts
}

/// Mounts what a cut has left and looks at it; cuts the power now and then while that goes on.
fn come_back(disk: Recorded, points: &[Point], random: &mut fastrand::Rng, depth: usize) -> usize {
    let image = disk.image();
    let mut store = Store::mount(disk.clone(), &mount_options(random)).expect("mount");
    verify(&mut store, points);
    drop(store);
    if depth == 0 || random.u8(..8) != 0 {
        return 0;
    }
    let events = disk.events();
    let mut replay = Replay::new(image);
    let stop = random.usize(..=events.len());
    events[..stop].iter().for_each(|event| replay.apply(event));
    let left = Recorded::new(replay.cut(random));
    1 + come_back(left, points, random, depth - 1)
}

#[test]
fn a_cut_at_any_write_loses_nothing_synced() {
    let cuts: usize = (0..16).map(|seed| workload(seed, 200)).sum();
    assert!(cuts > 10_000, "only {cuts} cuts");
}
