//! The service and a client that a test plays, and the client with a mock of the service. Runs on the
//! machine that builds: `sing test`.

use {{crate}}::{{{Name}}Contract, add, serve};

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

#[test]
fn each_number_is_sent_by_itself() {
    let (service, came) = {{Name}}Contract::Mock::new()
        .on_add(|number, client| client.send_sum(i64::from(number) * 10))
        .channel();
    assert_eq!(add(service, &[1, -2]), Ok(vec![10, -20]));
    assert_eq!(came.messages(), ["Add(1)", "Add(-2)"]);
}
