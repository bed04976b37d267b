//! Permissions and trees at work, against the real kernel ([O] 5.5.3, 4.7): an endpoint that is
//! narrowed to listen cannot connect, whichever process holds it; a tree of blocks is moved, and
//! freed, as one.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::inspect;
#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};
use sing_sdk::rt::{Endpoint, Record, TypedEndpoint};

sing_sdk::contract!(
    "
    contract Tcp {
      in message Connect(uint address, ushort port);
      in message BindLocalEndPoint(uint address, ushort port);
      in message Listen();
      in message Close();
      out message Ready();
      out message OK();
      out message InvalidEndPoint();

      state Start: Ready! -> ReadyState;
      state ReadyState: one {
        Connect? -> OK! -> ReadyState;
        BindLocalEndPoint? -> BindResult;
        Close? -> closed;
      }
      state BindResult: one { OK! -> Bound; InvalidEndPoint! -> ReadyState; }
      state Bound: one {
        Listen? -> OK! -> Bound;
        Connect? -> OK! -> Bound;
        Close? -> closed;
      }
    }
    contract Listener narrows Tcp.Imp { BindLocalEndPoint; Listen; Close; }
    contract Closer narrows Listener.Imp { Close; }

    contract Giver {
      in message Give(Listener.Imp:ReadyState listener);
      state Start: Give? -> closed;
    }
    contract Taker {
      in message Take(Tcp.Imp:ReadyState tcp);
      state Start: Take? -> closed;
    }

    // Adds requests: an importer that knows Browser alone goes on as before; an exporter would not
    // understand them.
    contract Browser {
      in message Read(); out message Data(uint n);
      state Ready: Read? -> Data! -> Ready;
    }
    contract Writer : Browser {
      in message Write(uint n); out message Written();
      override state Ready: one { Read? -> Data! -> Ready; Write? -> Written! -> Ready; }
    }

    // Goes on in states of its own: an importer that knows Errand alone is in Bound while the
    // channel is in Open.
    contract Errand {
      in message Go(); in message Stop(); out message Gone();
      state Start: Go? -> Gone! -> Bound;
      state Bound: Stop? -> closed;
    }
    contract Journey : Errand {
      in message More();
      override state Start: Go? -> Gone! -> Open;
      state Open: one { Stop? -> closed; More? -> closed; }
    }
    contract Idle narrows Errand.Imp { Go; }
    contract Errands {
      in message Take(Errand.Imp:Bound errand);
      state Start: Take? -> closed;
    }
    contract Greeting { out message Hello(); state Start: Hello! -> Bound; state Bound; }
    contract Talk : Greeting {
      in message Ask();
      override state Start: Hello! -> Open;
      state Open: Ask? -> closed;
    }
    contract Greetings {
      in message Take(Greeting.Exp:Bound greeting);
      state Start: Take? -> closed;
    }

    rep struct Node { uint value; Node*? in ExHeap left; Node*? in ExHeap right; byte[]? in ExHeap name; }
    contract Grove {
      in message Plant(Node* in ExHeap tree);
      out message Felled(Node* in ExHeap tree);
      state Start: Plant? -> Felled! -> Start;
    }
    "
);

sing_sdk::manifest! {
    name: "permissions",
    description: "narrows endpoints and moves trees",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        listener: optional Listener.Imp:ReadyState,
    },
}

type Ready = Tcp::Imp<Tcp::ReadyState>;

fn connection() -> Result<(Ready, Tcp::Exp<Tcp::ReadyState>), Error> {
    let (imp, exp) = Tcp::new_channel()?;
    let exp = exp.send_ready();
    Ok((imp.recv_ready()?, exp))
}

/// A narrowed endpoint sends the messages that it may still send.
fn narrowed() -> Check {
    let (imp, exp) = connection()?;
    let listener: Listener::Imp<Listener::ReadyState> = imp.into();
    let binding = listener.send_bind_local_end_point(1, 80);
    let Tcp::exp::ReadyState::BindLocalEndPoint(1, 80, exp) = exp.recv() else {
        return Ok(false);
    };
    let exp = exp.send_ok();
    let Listener::imp::BindResult::OK(bound) = binding.recv() else {
        return Ok(false);
    };
    let listening = bound.send_listen();
    let Tcp::exp::Bound::Listen(exp) = exp.recv() else {
        return Ok(false);
    };
    let _exp = exp.send_ok();
    drop(listening.recv_ok()?);
    Ok(true)
}

/// Whether an endpoint that is narrowed can be widened again.
fn is_wide(endpoint: Endpoint) -> bool {
    endpoint.cast::<Ready>().is_ok()
}

/// No cast widens it again: neither by the process that narrowed it, nor by another.
fn not_widened() -> Check {
    let (imp, _exp) = connection()?;
    let listener: Listener::Imp<Listener::ReadyState> = imp.into();
    if is_wide(listener.into_endpoint()) {
        return Ok(false);
    }
    let (imp, _exp) = connection()?;
    let (giver, taker) = Giver::new_channel()?;
    // It travels under the type that the message states.
    let listener: Listener::Imp<Listener::ReadyState> = imp.into();
    drop(giver.send_give(listener));
    let (listener, _) = taker.recv_give()?;
    Ok(!is_wide(listener.into_endpoint()))
}

/// A narrowed endpoint can be narrowed further, and not back to the permission in between.
fn narrowed_twice() -> Check {
    let (imp, exp) = connection()?;
    let listener: Listener::Imp<Listener::ReadyState> = imp.into();
    let closer: Closer::Imp<Closer::ReadyState> = listener.into();
    let Err(endpoint) = closer
        .into_endpoint()
        .cast::<Listener::Imp<Listener::ReadyState>>()
    else {
        return Ok(false);
    };
    let Ok(closer) = endpoint.cast::<Closer::Imp<Closer::ReadyState>>() else {
        return Ok(false);
    };
    drop(closer.send_close());
    Ok(matches!(exp.recv(), Tcp::exp::ReadyState::Close(_)))
}

/// A wide endpoint stays wide after a query of its possible types.
fn wide_stays_wide() -> Check {
    let (imp, _exp) = connection()?;
    let (giver, taker) = Taker::new_channel()?;
    drop(giver.send_take(imp));
    let (imp, _) = taker.recv_take()?;
    Ok(is_wide(imp.into_endpoint()))
}

/// A child that is granted a permission gets no more, though it is handed the wide endpoint.
fn granted() -> Check {
    let (imp, exp) = connection()?;
    let child = Child::of("permissions")
        .arg("permissions")
        .arg("child")
        .endpoint("listener", imp)
        .start()?;
    let Tcp::exp::ReadyState::BindLocalEndPoint(7, 7, exp) = exp.recv() else {
        return Ok(false);
    };
    drop(exp.send_ok());
    Ok(child.join()? == Exit::Code(0))
}

/// The task of the child.
fn child() -> i32 {
    let Some(listener) = startup::listener() else {
        return 2;
    };
    let Listener::imp::BindResult::OK(bound) = listener.call_bind_local_end_point(7, 7) else {
        return 3;
    };
    match bound.into_endpoint().cast::<Tcp::Imp<Tcp::Bound>>() {
        Ok(_) => 1,
        Err(_) => 0,
    }
}

/// If a derived contract keeps the base's expectations, its endpoint is used as one of the base,
/// here and now.
fn stands_for_its_base() -> Check {
    let (imp, exp) = Writer::new_channel()?;
    let reader: Browser::Imp<Browser::Ready> = imp.into();
    let waiting = reader.send_read();
    let Writer::exp::Ready::Read(exp) = exp.recv() else {
        return Ok(false);
    };
    let _exp = exp.send_data(9);
    let (n, reader) = waiting.recv_data()?;
    // It is unchanged: nothing was narrowed.
    let again = reader.into_endpoint().cast::<Writer::Imp<Writer::Ready>>();
    Ok(n == 9 && again.is_ok())
}

/// If it does not, the kernel refuses: an exporter that knows Browser alone would not understand
/// Write.
fn does_not_stand_for_its_base() -> Check {
    let (_imp, exp) = Writer::new_channel()?;
    let refused = exp.into_endpoint().cast::<Browser::Exp<Browser::Ready>>();
    Ok(refused.is_err())
}

/// A `Journey` that is used as an `Errand`, at the point where the latter ends.
fn bound() -> Result<(Errand::Imp<Errand::Bound>, Journey::Exp<Journey::Open>), Error> {
    let (imp, exp) = Journey::new_channel()?;
    let errand: Errand::Imp<Errand::Start> = imp.into();
    let waiting = errand.send_go();
    let exp = exp.recv_go()?.send_gone();
    Ok((waiting.recv_gone()?, exp))
}

/// A subtype of its base is one after each message, too: it can be sent as one, and continues as
/// one there.
fn sent_as_its_base() -> Check {
    let (errand, exp) = bound()?;
    let (errands, taker) = Errands::new_channel()?;
    drop(errands.send_take(errand));
    let (errand, _taker) = taker.recv_take()?;
    drop(errand.send_stop());
    Ok(matches!(exp.recv(), Journey::exp::Open::Stop(_)))
}

/// And it can be narrowed as one of the base.
fn narrowed_as_its_base() -> Check {
    let (errand, exp) = bound()?;
    let idle: Idle::Imp<Idle::Bound> = errand.into();
    let again = idle.into_endpoint().cast::<Errand::Imp<Errand::Bound>>();
    drop(again);
    Ok(matches!(exp.recv(), Journey::exp::Open::Closed))
}

/// If the base ends and more messages may come, an endpoint may have reached that state, and be
/// passed on; but not begin in it.
fn at_the_end_of_its_base() -> Check {
    let (_imp, exp) = Talk::new_channel()?;
    let greeting: Greeting::Exp<Greeting::Start> = exp.into();
    let greeting = greeting.send_hello();
    let (greetings, taker) = Greetings::new_channel()?;
    drop(greetings.send_take(greeting));
    let (_greeting, _taker) = taker.recv_take()?;
    let (_imp, exp) = Talk::new_channel()?;
    let open = exp.send_hello().into_endpoint();
    Ok(open.cast::<Greeting::Exp<Greeting::Bound>>().is_err())
}

/// A complete binary tree of so many nodes.
fn tree(nodes: u32) -> Result<Record<Node>, Error> {
    let below = nodes - 1;
    let part = |nodes| (nodes > 0).then(|| tree(nodes)).transpose();
    Record::new(Node {
        value: nodes,
        left: part(below.div_ceil(2))?,
        right: part(below / 2)?,
        name: Some(Vector::from_bytes(b"node")?),
    })
}

fn count(node: Record<Node>) -> u32 {
    match node.into_inner() {
        Some(node) => 1 + node.left.map_or(0, count) + node.right.map_or(0, count),
        None => 0,
    }
}

/// Blocks in the exchange heap, of all processes.
fn blocks() -> Result<u64, Error> {
    Ok(inspect::memory()?.allocations)
}

const NODES: u32 = 1000;

/// A tree goes there and back and is whole.
fn trees_move() -> Check {
    let (imp, exp) = Grove::new_channel()?;
    let waiting = imp.send_plant(tree(NODES)?);
    let (mut tree, exp) = exp.recv_plant()?;
    // A part is read in place.
    let left = tree.with(|node| node.left.as_mut().and_then(|l| l.with(|l| l.value)));
    let _exp = exp.send_felled(tree);
    let (tree, _imp) = waiting.recv_felled()?;
    Ok(left == Some(Some((NODES - 1).div_ceil(2))) && count(tree) == NODES)
}

/// However a tree is lost, it is freed as a whole: dropped, on its way, sent to a side that has
/// closed.
fn trees_are_given_back() -> Check {
    let before = blocks()?;
    let own = tree(NODES)?;
    let during = blocks()?;
    drop(own);
    let dropped = blocks()?;
    let (imp, exp) = Grove::new_channel()?;
    let waiting = imp.send_plant(tree(NODES)?);
    drop(exp);
    drop(waiting);
    let on_its_way = blocks()?;
    let (imp, exp) = Grove::new_channel()?;
    drop(exp);
    drop(imp.send_plant(tree(NODES)?));
    let refused = blocks()?;
    Ok(during == before + 2 * u64::from(NODES) && [dropped, on_its_way, refused] == [before; 3])
}

/// A list as deep as memory allows is freed without an equally deep stack.
fn deep_lists() -> Check {
    let before = blocks()?;
    let mut list: Option<Record<Node>> = None;
    for value in 0..5000 {
        list = Some(Record::new(Node {
            value,
            left: list,
            right: None,
            name: None,
        })?);
    }
    drop(list);
    Ok(blocks()? == before)
}

#[sing_sdk::main]
fn main() -> i32 {
    if sing_sdk::args::get(1).as_deref() == Some("child") {
        return child();
    }
    let checks: [Test; 13] = [
        ("narrowed", narrowed),
        ("not widened", not_widened),
        ("narrowed twice", narrowed_twice),
        ("wide stays wide", wide_stays_wide),
        ("granted", granted),
        ("stands for its base", stands_for_its_base),
        ("does not stand for its base", does_not_stand_for_its_base),
        ("sent as its base", sent_as_its_base),
        ("narrowed as its base", narrowed_as_its_base),
        ("at the end of its base", at_the_end_of_its_base),
        ("trees move", trees_move),
        ("trees are given back", trees_are_given_back),
        ("deep lists", deep_lists),
    ];
    checks::run("permissions", checks)
}
