//! A service's contract derives from the SDK's `ServiceContract`, not from another one of that name.
#![deny(unsafe_code)]
use sing_sdk::names::Names;

sing_sdk::contract!(
    "
    contract ServiceContract { out message Success(); state Start: Success! -> Bound; state Bound; }
    contract GreetContract : ServiceContract {
      in message Greet();
      override state Start: Success! -> Ready;
      state Ready: Greet? -> Success! -> Ready;
    }
    "
);

pub fn bind(names: &mut Names) -> Result<(), sing_sdk::Error> {
    let (_greet, exp) = GreetContract::new_channel()?;
    names.bind("/greet", exp)
}

fn main() {}
