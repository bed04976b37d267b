//! Tests of the cache: what is found in it, and what is not used.

use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A directory of a test's own.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("sing-run-cache-{name}-{}", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn open(&self) -> Cache {
        Cache::at(&self.0).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name());
        let mut names: Vec<String> = names.map(|n| n.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is found, as a word; and that a file has the contents from its start.
fn found(cache: &Cache, key: &Key, contents: &[u8]) -> String {
    match cache.get(key) {
        Found::Whole(mut file) => {
            let mut bytes = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            assert!(bytes.starts_with(contents));
            "whole".into()
        }
        Found::Broken(why) => why,
        Found::Nothing => "nothing".into(),
    }
}

#[test]
fn what_was_kept_is_found_under_its_name_alone() {
    let place = Place::new("kept");
    let cache = place.open();
    let keys = [
        Key::of(&[b"ab", b"c"]),
        Key::of(&[b"a", b"bc"]),
        Key::of(&[b"abc"]),
    ];
    assert_ne!(keys[0], keys[1]);
    assert_ne!(keys[1], keys[2]);
    let image = vec![7; 3 * PIECE + 5];
    cache.put(&keys[0], &image).unwrap();
    assert_eq!(found(&cache, &keys[0], &image), "whole");
    assert_eq!(found(&place.open(), &keys[0], &image), "whole");
    assert_eq!(found(&cache, &keys[1], b""), "nothing");
    // Under the name of another it is none.
    std::fs::rename(cache.path(&keys[0]), cache.path(&keys[1])).unwrap();
    assert_eq!(found(&cache, &keys[1], b""), "its contents have changed");
    // And it is put right.
    cache.put(&keys[1], b"other").unwrap();
    assert_eq!(found(&cache, &keys[1], b"other"), "whole");
    assert_eq!(place.names().len(), 1);
    let mode = std::fs::metadata(&place.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn what_is_cut_short_or_changed_is_not_used() {
    let place = Place::new("changed");
    let cache = place.open();
    let key = Key::of(&[b"module"]);
    let image: Vec<u8> = (0..1000_u32).map(|i| i as u8).collect();
    cache.put(&key, &image).unwrap();
    let path = cache.path(&key);
    let whole = std::fs::read(&path).unwrap();
    for at in [0, 1, 500, 999, 1000, 1007, 1008, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert_eq!(
            found(&cache, &key, b""),
            "its contents have changed",
            "{at}"
        );
    }
    for len in [0, 1, TAIL - 1] {
        std::fs::write(&path, &whole[..len]).unwrap();
        assert_eq!(found(&cache, &key, b""), "it is cut short", "{len}");
    }
    for len in [TAIL, 999, whole.len() - 1] {
        std::fs::write(&path, &whole[..len]).unwrap();
        assert_eq!(
            found(&cache, &key, b""),
            "its contents have changed",
            "{len}"
        );
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(found(&cache, &key, &image), "whole");
}

#[test]
fn what_others_could_have_put_there_is_not_used() {
    let place = Place::new("others");
    let cache = place.open();
    let key = Key::of(&[b"module"]);
    cache.put(&key, b"image").unwrap();
    let path = cache.path(&key);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&path, 0o620);
    assert_eq!(found(&cache, &key, b""), "others may have written to it");
    allow(&path, 0o600);
    let beside = place.0.join("beside");
    std::fs::rename(&path, &beside).unwrap();
    symlink(&beside, &path).unwrap();
    assert!(matches!(cache.get(&key), Found::Broken(_)));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(found(&cache, &key, b""), "it is no file");
    assert!(cache.put(&key, b"image").is_err());
    std::fs::remove_dir(&path).unwrap();
    for mode in [0o710, 0o701, 0o755, 0o770] {
        allow(&place.0, mode);
        let refused = Cache::at(&place.0).err().unwrap();
        assert!(
            refused.unsafe_place && refused.text.contains("chmod 700"),
            "{mode:o}"
        );
    }
    allow(&place.0, 0o700);
    let file = place.0.join("file");
    std::fs::write(&file, "").unwrap();
    let refused = Cache::at(&file).err().unwrap();
    assert!(!refused.unsafe_place, "{}", refused.text);
    // Links, files of others and half-written ones: nothing was removed or left.
    assert_eq!(place.names(), ["beside", "file"]);
}

#[test]
fn the_files_used_longest_ago_go() {
    let place = Place::new("room");
    let mut cache = place.open();
    let old = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let age = |path: &Path, minutes: u64| {
        let file = File::options().write(true).open(path).unwrap();
        let at = old + std::time::Duration::from_secs(60 * minutes);
        let times = std::fs::FileTimes::new().set_accessed(at).set_modified(old);
        file.set_times(times).unwrap();
    };
    let keys: Vec<Key> = (0..4_u8).map(|i| Key::of(&[&[i]])).collect();
    for (key, used) in keys.iter().zip([30, 10, 20]) {
        cache.put(key, &[1; 1000]).unwrap();
        age(&cache.path(key), used);
    }
    std::fs::write(place.0.join("not ours"), [0; 9000]).unwrap();
    for name in [".1-1.new", ".2-2.new"] {
        std::fs::write(place.0.join(name), "half").unwrap();
    }
    age(&place.0.join(".1-1.new"), 0);
    cache.most = 2 * LEAST_BYTES;
    cache.put(&keys[3], &[1; 1000]).unwrap();
    let mut left = vec![keys[0].file(), keys[3].file()];
    left.extend([".2-2.new".into(), "not ours".into()]);
    left.sort();
    assert_eq!(place.names(), left);
    // One that alone is too large is not kept, and costs no other its place.
    assert!(cache.put(&keys[1], &[1; 9000]).is_err());
    assert_eq!(place.names(), left);
}

#[test]
fn many_at_once_keep_and_find_whole_files() {
    let place = Place::new("many");
    place.open();
    let image: Vec<u8> = (0..300_000_u32).map(|i| (i / 3) as u8).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut cache = place.open();
                cache.most = 700_000;
                for i in 0..20_u8 {
                    let key = Key::of(&[&[i % 4]]);
                    cache.put(&key, &image).unwrap();
                    let is = found(&cache, &key, b"");
                    assert!(["whole", "nothing"].contains(&is.as_str()), "{is}");
                }
            });
        }
    });
    assert!(place.names().iter().all(|name| name.ends_with(ENDING)));
}

/// As where the home directory cannot be written, or the disk is full.
#[test]
fn what_cannot_be_kept_is_said_and_leaves_nothing() {
    let place = Place::new("full");
    let cache = place.open();
    // The directory is gone: nothing can be made in it.
    std::fs::remove_dir(&place.0).unwrap();
    assert!(cache.put(&Key::of(&[b"a"]), b"image").is_err());
    let file = Place::new("no-directory");
    std::fs::write(&file.0, "").unwrap();
    assert!(Cache::at(&file.0.join("below")).is_err());
    std::fs::remove_file(&file.0).unwrap();
}
