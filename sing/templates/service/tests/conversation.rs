//! The service and a client that a test plays. Runs on the machine that builds: `sing test`.

use {{crate}}::{{{Name}}Contract, serve};

#[test]
fn numbers_are_added_up() {
    let (client, service) = {{Name}}Contract::new_channel().unwrap();
    let service = std::thread::spawn(|| serve([service].into_iter()));
    let (total, client) = client.call_add(40).sum().unwrap();
    assert_eq!(total, 40);
    let (total, client) = client.call_add(2).sum().unwrap();
    assert_eq!(total, 42);
    drop(client);
    assert_eq!(service.join().unwrap(), Ok(42));
}
