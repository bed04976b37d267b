//! Tests of what is known from stamps: whatever changes is read again.

use super::*;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;

/// A cache with an image, and a module, in a directory of a test's own.
struct Place {
    folder: std::path::PathBuf,
    cache: Cache,
    record: Key,
    key: Key,
}

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("sing-run-known-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        fs::write(folder.join("a.wasm"), "module").unwrap();
        let cache = Cache::at(&folder).unwrap();
        let key = Key::of(&[b"image"]);
        cache.put(&key, b"an image").unwrap();
        Place {
            record: Key::of(&[b"record"]),
            key,
            cache,
            folder,
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.join("a.wasm")
    }

    /// The module's stamp as one will have it who looks later.
    fn module(&self) -> Settled {
        Settled::module(&self.file(), SystemTime::now() + 2 * SETTLED).unwrap()
    }

    /// The image's stamp, when the file system's clock has moved since the last change.
    fn image(&self) -> Settled {
        let end = SystemTime::now() + 10 * SETTLED;
        loop {
            let moment = self.cache.moment().unwrap();
            let image = Settled::image(&self.cache.unread(&self.key).unwrap(), moment);
            if let Some(image) = image {
                return image;
            }
            assert!(SystemTime::now() < end, "the clock stands still");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn note(&self, module: &Settled, image: &Settled) {
        note(&self.cache, &self.record, module, &self.key, image);
    }

    fn is_known(&self) -> bool {
        let found = find(&self.cache, &self.record, &self.file());
        found.is_some_and(|(key, _)| key == self.key)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_file_that_has_not_changed_is_known() {
    let place = Place::new("same");
    assert!(!place.is_known());
    place.note(&place.module(), &place.image());
    assert!(place.is_known());
    // Another file of these bytes, with their time.
    let (file, other) = (place.file(), place.folder.join("b.wasm"));
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&other, "module").unwrap();
    File::options()
        .write(true)
        .open(&other)
        .and_then(|file| file.set_modified(time))
        .unwrap();
    fs::rename(&other, &file).unwrap();
    assert!(!place.is_known());
}

#[test]
fn a_changed_image_is_not_known() {
    let place = Place::new("image");
    place.note(&place.module(), &place.image());
    let path = place.cache.path(&place.key);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(!place.is_known());
    place.note(&place.module(), &place.image());
    assert!(place.is_known());
    fs::remove_file(&path).unwrap();
    assert!(!place.is_known());
}

/// As long as the clock has not moved since the image was written, another change could leave its
/// stamp as it is, so the stamp does not count: not even for a clock of whole seconds.
#[test]
fn an_image_whose_next_change_may_not_show_is_not_noted() {
    let place = Place::new("young");
    let image = place.cache.unread(&place.key).unwrap();
    let about = image.metadata().unwrap();
    let (second, part) = (about.ctime(), about.ctime_nsec());
    let settled = |moment| Settled::image(&image, moment).is_some();
    assert!(!settled(Moment::new(second, part)));
    assert!(!settled(Moment::new(second, 0)));
    assert!(!settled(Moment::new(second - 1, 999_999_999)));
    assert!(settled(Moment::new(second, part + 1)));
    assert!(settled(Moment::new(second + 1, 0)));
}

/// Whatever is written as soon as a stamp counts changes it.
#[test]
fn no_change_leaves_the_stamp_of_a_settled_image() {
    let place = Place::new("race");
    let path = place.cache.path(&place.key);
    let bytes = fs::read(&path).unwrap();
    let end = SystemTime::now() + SETTLED;
    // Where the clock is coarse, few rounds are as good.
    for _ in (0..200).take_while(|_| SystemTime::now() < end) {
        let image = place.image();
        fs::write(&path, &bytes).unwrap();
        assert!(image.0 != stamp(&fs::metadata(&path).unwrap()));
    }
}

#[test]
fn moments_come_one_after_the_other_and_leave_nothing() {
    let place = Place::new("moments");
    let moments: Vec<Moment> = (0..100).map(|_| place.cache.moment().unwrap()).collect();
    assert!(moments.is_sorted());
    assert_eq!(fs::read_dir(&place.folder).unwrap().count(), 2);
}

#[test]
fn a_module_that_changes_while_it_is_read_is_not_known() {
    let place = Place::new("changing");
    let before = place.module();
    fs::write(place.file(), "changed").unwrap();
    place.note(&before, &place.image());
    assert!(!place.is_known());
    place.note(&place.module(), &place.image());
    assert!(place.is_known());
}

#[test]
fn a_module_settles_when_any_clock_has_moved() {
    let place = Place::new("settling");
    let about = fs::metadata(place.file()).unwrap();
    let changed = Duration::new(about.ctime() as u64, about.ctime_nsec() as u32);
    let after = |age| Settled::module(&place.file(), UNIX_EPOCH + changed + age).is_some();
    assert!(!after(Duration::ZERO));
    assert!(!after(Duration::from_secs(2)));
    assert!(!after(SETTLED));
    assert!(after(SETTLED + Duration::from_nanos(1)));
    // By a clock that is ahead of this machine's.
    let earlier = UNIX_EPOCH + changed - Duration::from_secs(1);
    assert!(Settled::module(&place.file(), earlier).is_none());
}

#[test]
fn what_is_no_regular_file_is_not_noted() {
    let place = Place::new("folder");
    let later = SystemTime::now() + 2 * SETTLED;
    let other = place.folder.join("other");
    assert!(Settled::module(&other, later).is_none());
    fs::create_dir(&other).unwrap();
    assert!(Settled::module(&other, later).is_none());
    assert!(Settled::module(&place.file(), later).is_some());
}

/// As one of a network's file systems, that of processes does not say when a file has changed.
#[test]
fn files_without_a_time_of_change_are_not_noted() {
    let place = Place::new("elsewhere");
    let later = SystemTime::now() + 2 * SETTLED;
    let moment = Moment::new(i64::MAX, 0);
    let own = File::open(place.file()).unwrap();
    assert!(Settled::image(&own, moment).is_some());
    let other = Path::new("/proc/self/status");
    assert!(fs::metadata(other).unwrap().is_file());
    assert!(Settled::module(other, later).is_none());
    assert!(Settled::image(&File::open(other).unwrap(), moment).is_none());
}

#[test]
fn an_image_that_changes_while_it_is_compared_is_not_known() {
    let place = Place::new("compared");
    let before = place.image();
    let path = place.cache.path(&place.key);
    fs::write(&path, fs::read(&path).unwrap()).unwrap();
    place.note(&place.module(), &before);
    assert!(!place.is_known());
}

#[test]
fn a_broken_record_is_none() {
    let place = Place::new("broken");
    place.note(&place.module(), &place.image());
    let whole = place.cache.read(&place.record).unwrap();
    for len in 0..whole.len() {
        place.cache.put(&place.record, &whole[..len]).unwrap();
        assert!(!place.is_known(), "{len}");
    }
    let mut other = whole.clone();
    *other.last_mut().unwrap() ^= 1;
    place.cache.put(&place.record, &other).unwrap();
    assert!(!place.is_known(), "of another start of this machine");
    place.cache.put(&place.record, &whole).unwrap();
    assert!(place.is_known());
}
