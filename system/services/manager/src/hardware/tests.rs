//! The tree of a machine with two disks, of which one has a driver.

use super::*;
use alloc::vec;

fn device(location: &str, signature: &str) -> Device {
    Device {
        location: location.into(),
        signature: signature.into(),
    }
}

fn machine() -> Hardware {
    let devices = [
        device("/virtio-mmio/0", "/virtio/2"),
        device("/pci/00/04.0", "/pci/01/00/1af4/1042"),
        device("/virtio-mmio/3", "/virtio/2"),
    ];
    let disk = |service: &str, has| Driver {
        image: "virtio-blk".into(),
        service: service.into(),
        devices: vec![("device".into(), vec!["/virtio/2".into(), "/pci/01".into()])],
        has,
        serves: vec![("disk".into(), "DiskContract".into())],
    };
    Hardware::new(
        &devices,
        &[disk("disk0", vec![Some(2)]), disk("disk1", vec![])],
    )
}

/// Each path with what is there, in the order of a walk.
fn all(tree: &Hardware, at: &str, into: &mut Vec<String>) {
    for entry in (&mut &*tree).list(at, None, 1000).unwrap() {
        let path = format!("{}/{}", at.trim_end_matches('/'), entry.name);
        match tree.find(&path).unwrap() {
            Found::Directory => all(tree, &path, into),
            Found::Link(link) => {
                assert_eq!(link.used, path.len());
                into.push(format!("{path} -> {}", link.target));
            }
            Found::About(number) => into.push(format!("{path} is about {number}")),
            Found::Endpoint => into.push(format!("{path} is a {}", entry.detail)),
        }
    }
}

#[test]
fn devices_locations_registrations_and_drivers_lead_to_each_other() {
    let mut paths = Vec::new();
    all(&machine(), "/", &mut paths);
    let wanted = "\
/devices/pci/01/00/1af4/1042/0/about is about 1
/devices/pci/01/00/1af4/1042/0/location -> /hardware/locations/pci/00/04.0
/devices/virtio/2/0/about is about 0
/devices/virtio/2/0/location -> /hardware/locations/virtio-mmio/0
/devices/virtio/2/1/about is about 2
/devices/virtio/2/1/driver -> /hardware/drivers/virtio-blk/disk0
/devices/virtio/2/1/location -> /hardware/locations/virtio-mmio/3
/drivers/virtio-blk/disk0/device -> /hardware/devices/virtio/2/1
/drivers/virtio-blk/disk0/disk is a DiskContract
/drivers/virtio-blk/disk0/service -> /services/disk0
/drivers/virtio-blk/disk1/disk is a DiskContract
/drivers/virtio-blk/disk1/service -> /services/disk1
/drivers/virtio-blk/image -> /boot/bin/virtio-blk
/locations/pci/00/04.0/device -> /hardware/devices/pci/01/00/1af4/1042/0
/locations/virtio-mmio/0/device -> /hardware/devices/virtio/2/0
/locations/virtio-mmio/3/device -> /hardware/devices/virtio/2/1
/registrations/pci/01/driver -> /hardware/drivers/virtio-blk
/registrations/virtio/2/driver -> /hardware/drivers/virtio-blk";
    assert_eq!(paths, wanted.lines().collect::<Vec<_>>());
}

#[test]
fn every_link_within_the_tree_leads_somewhere() {
    let tree = machine();
    let mut paths = Vec::new();
    all(&tree, "/", &mut paths);
    let targets = paths.iter().filter_map(|p| p.split_once(" -> /hardware"));
    let mut count = 0;
    for (_, target) in targets {
        assert_eq!(tree.find(target), Ok(Found::Directory), "{target}");
        count += 1;
    }
    assert!(count > 5);
}

#[test]
fn a_path_ends_at_a_link_and_what_is_none_is_refused() {
    let tree = machine();
    let link = |used, target: &str| {
        let target = target.into();
        Ok(Found::Link(Link { used, target }))
    };
    let at = "/registrations/virtio/2/driver";
    assert_eq!(
        tree.find(&format!("{at}/disk0/disk")),
        link(at.len(), "/hardware/drivers/virtio-blk")
    );
    assert_eq!(tree.find("/devices/virtio/9"), Err(Refusal::NotFound));
    let about = "/devices/virtio/2/0/about";
    assert_eq!(
        tree.find(&format!("{about}/x")),
        Err(Refusal::NotADirectory)
    );
    assert_eq!(
        (&mut &tree).list(about, None, 9),
        Err(Refusal::NotADirectory)
    );
    assert_eq!((&mut &tree).list(at, None, 9), Err(Refusal::IsLink));
    let names = (&mut &tree).list("/", Some("devices"), 1).unwrap();
    assert_eq!(names, [Entry::directory("drivers")]);
}

#[test]
fn a_manifest_replaces_no_part_of_the_tree() {
    let driver = Driver {
        image: "odd".into(),
        service: "image".into(),
        devices: vec![
            (
                "service".into(),
                vec!["/../x".into(), "//".into(), "".into()],
            ),
            ("disk".into(), vec![]),
        ],
        has: vec![Some(0), Some(7)],
        serves: vec![
            ("disk".into(), "DiskContract".into()),
            ("../up".into(), "".into()),
        ],
    };
    let tree = Hardware::new(&[device("no path", "/virtio/2")], &[driver]);
    let mut paths = Vec::new();
    all(&tree, "/", &mut paths);
    let wanted = "\
/devices/virtio/2/0/about is about 0
/devices/virtio/2/0/driver -> /hardware/drivers/odd/image
/drivers/odd/image -> /boot/bin/odd
/registrations/driver -> /hardware/drivers/odd";
    let found: Vec<&str> = paths
        .iter()
        .map(String::as_str)
        .filter(|p| !p.contains("location"))
        .collect();
    assert_eq!(found, wanted.lines().collect::<Vec<_>>());
}
