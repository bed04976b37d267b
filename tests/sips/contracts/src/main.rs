//! Contracts at work: all operations of the types made from a contract, against the real kernel.
//! Sends never wait, so one thread can play both sides of a channel.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, Record, TypedEndpoint};
use sing_sdk::tree::Content;

sing_sdk::contract!(
    "
    enum Colour : byte { Red = 3, Green = 200 }
    rep struct Point { int x; byte y; Colour colour; double z; }
    rep struct Parcel { byte[] in ExHeap data; Small.Exp:Start reply; int count; }

    contract Small {
      in message Say(int x) requires x > 0 && x < 1000;
      out message Said(int x);
      state Start: Say? -> Said! -> Start;
    }

    contract Large {
      in message Numbers(bool a, sbyte b, short c, int d, long e, char f, float g, double h);
      in message Shape(Point at, Colour colour);
      in message Send(Parcel parcel);
      in message Row(Point[] in ExHeap points, Point* in ExHeap single);
      in message Three(long a, long b, long c);
      out message Done(long a, long b, long c, long d);
      out message Refused();
      state Start: one {
        Numbers? -> Done! -> Start;
        Shape? -> (Done! or Refused!) -> Start;
        Send? -> Done! -> Start;
        Row? -> Done! -> Start;
        Three? -> Refused! -> closed;
      }
    }

    rep struct Lit { int? level; Colour? colour; Point? at; }
    rep struct Twig { bool? dry; Lit lit; Twig*? in ExHeap next; }
    contract Lantern {
      in message Set(long? level, Colour? colour, Point? at) requires !level.HasValue || level.Value < 100;
      in message Row(Lit[] in ExHeap row, bool? on);
      in message Grow(Twig* in ExHeap twig);
      out message Was(Lit? lit);
      state Start: (Set? or Row? or Grow?) -> Was! -> Start;
    }

    contract Burst {
      in message Data(int n);
      out message Enough();
      state Start: Data? -> Data? -> Data? -> Enough! -> closed;
    }

    // Either may send first.
    contract Job {
      in message Interrupt();
      out message Finished(int status);
      state Running: one { Interrupt? -> Interrupted; Finished! -> Over; }
      state Interrupted: Finished! -> closed;
      state Over: Interrupt? -> closed;
    }

    contract Base { out message Success(); state Start: Success! -> Bound; state Bound; }
    contract Derived : Base {
      in message Work(int n);
      override state Start: Success! -> Ready;
      state Ready: Work? -> Success! -> Ready;
    }
    contract Other : Base {
      in message Play();
      override state Start: Success! -> Ready;
      state Ready: Play? -> Success! -> Ready;
    }
    contract Carrier {
      in message Carry(Base.Exp:Start service);
      state Start: Carry? -> closed;
    }

    contract Store {
      in message Get();
      in message Put(int x);
      out message Value(int x);
      state Start: one { Get? -> Value! -> Start; Put? -> Value! -> Start; }
    }
    contract Reader narrows Store.Imp { Get; }
    contract Lender {
      in message Lend(Reader.Imp:Start store);
      state Start: Lend? -> closed;
    }

    // Larger than the buffer that moves bytes between block and value at once.
    rep struct Wide { Point a; Point b; Point c; Point d; Point e; Point f; Point g; Point h; Point i; }

    rep struct Node {
      int value;
      Point at;
      char[] in ExHeap name;
      Node*? in ExHeap left;
      Node[]? in ExHeap others;
    }
    // Blocks that may be absent, of themselves and in a struct.
    rep struct Slot { byte[]? in ExHeap data; Node*? in ExHeap tree; }
    contract Shelf {
      in message Put(byte[]? in ExHeap data, char[]? in ExHeap name, Node*? in ExHeap tree, uint count)
        requires count <= data.Length;
      in message Fold(Slot slot, byte[] in ExHeap rest);
      out message Got(byte[]? in ExHeap data);
      state Start: one { Put? -> Got! -> Start; Fold? -> Got! -> Start; }
    }

    contract Forest {
      in message Plant(Node* in ExHeap tree);
      out message Grown(Node* in ExHeap tree, int sum);
      state Start: Plant? -> Grown! -> Start;
    }
    "
);

sing_sdk::manifest! {
    name: "contracts",
    description: "tries everything that contracts can say",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

/// A message there and its answer back.
fn there_and_back() -> Check {
    let (imp, exp) = Small::new_channel()?;
    let imp = imp.send_say(41);
    let (x, exp) = exp.recv_say()?;
    let _exp = exp.send_said(x + 1);
    let (x, _imp) = imp.recv_said()?;
    Ok(x == 42)
}

/// Scalars of every type, more than fit registers.
fn scalars() -> Check {
    let (imp, exp) = Large::new_channel()?;
    let imp = imp.send_numbers(true, -1, -2, i32::MIN, i64::MIN, '\u{1f600}', -0.5, 1e300);
    let Large::exp::Start::Numbers(a, b, c, d, e, f, g, h, exp) = exp.recv() else {
        return Ok(false);
    };
    let _exp = exp.send_done(i64::MAX, -1, 0, 7);
    let (p, q, r, s, _imp) = imp.recv_done()?;
    Ok(
        (a, b, c, d, e, f) == (true, -1, -2, i32::MIN, i64::MIN, '\u{1f600}')
            && (g.to_bits(), h.to_bits()) == ((-0.5f32).to_bits(), 1e300f64.to_bits())
            && (p, q, r, s) == (i64::MAX, -1, 0, 7),
    )
}

/// Enums and rep structs, as arguments.
fn structs() -> Check {
    let (imp, exp) = Large::new_channel()?;
    let at = Point {
        x: -7,
        y: 255,
        colour: Colour::Green,
        z: 2.5,
    };
    let imp = imp.send_shape(at, Colour::Red);
    let Large::exp::Start::Shape(got, Colour::Red, exp) = exp.recv() else {
        return Ok(false);
    };
    let _exp = exp.send_refused();
    let refused = matches!(imp.recv(), Large::imp::Start_Shape::Refused(_));
    Ok(got == at && refused)
}

/// Values that may be absent, as words, and in a block.
fn absent() -> Check {
    let (mut imp, mut exp) = Lantern::new_channel()?;
    let at = Point {
        x: i32::MIN,
        y: 3,
        colour: Colour::Green,
        z: -0.0,
    };
    let mut right = true;
    for (level, colour, at) in [
        (None, None, None),
        (Some(0), Some(Colour::Red), None),
        (Some(i64::MIN), None, Some(at)),
        (None, Some(Colour::Green), Some(at)),
    ] {
        let waiting = imp.send_set(level, colour, at);
        let Lantern::exp::Start::Set(l, c, a, answering) = exp.recv() else {
            return Ok(false);
        };
        right &= (l, c, a) == (level, colour, at);
        let lit = Lit {
            level: level.map(|l| l as i32),
            colour,
            at,
        };
        exp = answering.send_was(at.map(|_| lit));
        let (was, next) = waiting.recv_was()?;
        right &= was == at.map(|_| lit);
        imp = next;
    }
    let row = [None, Some(-1), Some(0)].map(|level| Lit {
        level,
        colour: level.map(|_| Colour::Red),
        at: None,
    });
    let waiting = imp.send_row(Vector::from_slice(&row)?, Some(false));
    let Lantern::exp::Start::Row(mut came, Some(false), answering) = exp.recv() else {
        return Ok(false);
    };
    let exp = answering.send_was(None);
    let (was, imp) = waiting.recv_was()?;
    right &= was.is_none();
    right &= came.iter().eq(row);
    // An absent value with bytes behind it is none.
    came.block_mut().store_u8(4, 1);
    right &= came.get(0).is_none() && came.get(1) == Some(row[1]);
    let twig = |dry, lit, next| Record::new(Twig { dry, lit, next });
    let tree = twig(None, row[0], Some(twig(Some(true), row[1], None)?))?;
    let waiting = imp.send_grow(tree);
    let Lantern::exp::Start::Grow(mut tree, _exp) = exp.recv() else {
        return Ok(false);
    };
    let seen = tree.with(|first| {
        let next = first.next.as_mut();
        let second = next.and_then(|n| n.with(|second| (second.dry, second.lit)));
        (first.dry, first.lit, second)
    });
    right &= seen == Some((None, row[0], Some((Some(true), row[1]))));
    drop(waiting);
    Ok(right)
}

/// Blocks that may be absent: those that are there move, and are freed with what nobody receives.
fn absent_blocks() -> Check {
    let (mut imp, mut exp) = Shelf::new_channel()?;
    let mut right = true;
    for case in 0..8u8 {
        let [bytes, name, tree] = [1, 2, 4].map(|bit| case & bit != 0);
        let data = Vector::unless_empty(if bytes { b"abc" } else { b"" })?;
        let text = if name { Some(Text::new("name")?) } else { None };
        let root = if tree { Some(leaf(7)?) } else { None };
        let waiting = imp.send_put(data, text, root, u32::from(bytes) * 3);
        let Shelf::exp::Start::Put(data, text, root, _, answering) = exp.recv() else {
            return Ok(false);
        };
        right &= data.is_some() == bytes && text.is_some() == name && root.is_some() == tree;
        right &= text.is_none_or(|t| t.get().as_deref() == Some("name"));
        right &= root.is_none_or(|mut r| r.with(|node| node.value) == Some(7));
        let elements = data.iter().flat_map(Vector::iter).count();
        right &= elements == usize::from(bytes) * 3;
        exp = answering.send_got(data);
        let (data, next) = waiting.recv_got()?;
        right &= data.map(|d| d.to_vec()) == bytes.then(|| b"abc".to_vec());
        imp = next;
    }
    let slot = |data, tree| Slot { data, tree };
    let rest = || Vector::from_bytes(b"rest");
    let waiting = imp.send_fold(slot(None, Some(leaf(5)?)), rest()?);
    let Shelf::exp::Start::Fold(came, _, answering) = exp.recv() else {
        return Ok(false);
    };
    right &= came.data.is_none() && came.tree.is_some();
    drop(answering.send_got(None));
    let (_, imp) = waiting.recv_got()?;
    // The other side has closed: what was to move is freed here.
    drop(imp.send_fold(slot(Some(rest()?), None), rest()?));
    // Nobody receives these.
    let (imp, exp) = Shelf::new_channel()?;
    drop(imp.send_put(None, None, Some(leaf(6)?), 0));
    drop(exp);
    let (imp, exp) = Shelf::new_channel()?;
    drop(exp);
    right &= matches!(
        imp.call_put(Some(rest()?), None, None, 4),
        Shelf::imp::Start_Put::Closed
    );
    Ok(right)
}

/// A tree of one node.
fn leaf(value: i32) -> Result<Record<Node>, Error> {
    Record::new(node(value)?)
}

/// A rep struct with a block and an endpoint in it: both move.
fn parcels() -> Check {
    let (imp, exp) = Large::new_channel()?;
    let (ours, theirs) = Small::new_channel()?;
    let data = Vector::from_slice(b"sealed")?;
    let imp = imp.send_send(Parcel {
        data,
        reply: theirs,
        count: 6,
    });
    let Large::exp::Start::Send(parcel, exp) = exp.recv() else {
        return Ok(false);
    };
    let mut text = [0; 6];
    parcel.data.block().read(0, &mut text);
    let ours = ours.send_say(parcel.count);
    let (n, reply) = parcel.reply.recv_say()?;
    drop(reply.send_said(n * 2));
    let (n, _ours) = ours.recv_said()?;
    drop((imp, exp));
    Ok(&text == b"sealed" && n == 12)
}

/// Values in blocks.
fn blocks() -> Check {
    let (imp, exp) = Large::new_channel()?;
    let point = |x| Point {
        x,
        y: 1,
        colour: Colour::Red,
        z: 0.25,
    };
    let mut points = Vector::new(3)?;
    let stored = (0..3).all(|i| points.set(i, point(i as i32)));
    let mut one = Record::<Point>::from_block(Block::new(24)?);
    one.set(point(9));
    let imp = imp.send_row(points, one);
    let Large::exp::Start::Row(points, one, exp) = exp.recv() else {
        return Ok(false);
    };
    let fits = (0..3).all(|i| points.get(i) == Some(point(i as i32)));
    drop((imp, exp));
    Ok(stored && fits && one.get() == Some(point(9)) && points.get(3).is_none())
}

/// Sends run ahead of receives as far as the contract lets them.
fn bursts() -> Check {
    let (imp, exp) = Burst::new_channel()?;
    let imp = imp.send_data(1).send_data(2).send_data(3);
    let (a, exp) = exp.recv_data()?;
    let (b, exp) = exp.recv_data()?;
    let (c, exp) = exp.recv_data()?;
    drop(exp.send_enough());
    Ok((a, b, c) == (1, 2, 3) && imp.recv_enough().is_ok())
}

/// Both sides send at once, and both understand.
fn at_once() -> Check {
    let (imp, exp) = Job::new_channel()?;
    let imp = imp.send_interrupt();
    let exp = exp.send_finished(130);
    let (status, _imp) = imp.recv_finished()?;
    Ok(status == 130 && exp.recv_interrupt().is_ok())
}

/// No message, then a message, then the close.
fn polling() -> Check {
    let (imp, exp) = Small::new_channel()?;
    let Err(exp) = exp.try_recv() else {
        return Ok(false);
    };
    let imp = imp.send_say(5);
    let Ok(Small::exp::Start::Say(5, exp)) = exp.try_recv() else {
        return Ok(false);
    };
    drop(imp);
    let exp = exp.send_said(5);
    Ok(exp.is_ready() && matches!(exp.recv(), Small::exp::Start::Closed))
}

/// Messages sent before the close still arrive; a message sent after it is freed, not lost.
fn closing() -> Check {
    let (imp, exp) = Large::new_channel()?;
    drop(imp.send_three(1, 2, 3));
    let arrived = matches!(exp.recv(), Large::exp::Start::Three(1, 2, 3, _));
    // More blocks than a thread can hold, if they stayed.
    for _ in 0..100_000 {
        let (imp, exp) = Large::new_channel()?;
        drop(exp);
        let one = Record::from_block(Block::new(24)?);
        let closed = imp.send_row(Vector::new(1)?, one).recv_done().is_err();
        if !closed {
            return Ok(false);
        }
    }
    Ok(arrived)
}

/// The same by calls.
fn calls_of_the_closed() -> Check {
    for _ in 0..100_000 {
        let (imp, exp) = Large::new_channel()?;
        drop(exp);
        let one = Record::from_block(Block::new(24)?);
        if imp.call_row(Vector::new(1)?, one).done().is_ok() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Passes an endpoint through a message that knows only its base contract.
fn carried(service: Base::Exp<Base::Start>) -> Result<Endpoint, Error> {
    let (imp, exp) = Carrier::new_channel()?;
    drop(imp.send_carry(service));
    let (service, _exp) = exp.recv_carry()?;
    Ok(service.into_endpoint())
}

/// An endpoint of a derived contract travels as one of the base, and is recognised again.
fn casts() -> Check {
    let (imp, exp) = Derived::new_channel()?;
    let service = carried(exp.into())?;
    // Neither of another contract, nor of the other side, nor in another state.
    let Err(service) = service.cast::<Other::Exp<Other::Start>>() else {
        return Ok(false);
    };
    let Err(service) = service.cast::<Derived::Imp<Derived::Start>>() else {
        return Ok(false);
    };
    let Err(service) = service.cast::<Derived::Exp<Derived::Ready>>() else {
        return Ok(false);
    };
    let Err(service) = service.cast::<Small::Exp<Small::Start>>() else {
        return Ok(false);
    };
    let Ok(service) = service.cast::<Derived::Exp<Derived::Start>>() else {
        return Ok(false);
    };
    let service = service.send_success();
    let imp = imp.recv_success()?.send_work(3);
    let (n, _service) = service.recv_work()?;
    drop(imp);
    Ok(n == 3)
}

/// A derived endpoint is also one of its base contract.
fn casts_to_the_base() -> Check {
    let (_imp, exp) = Derived::new_channel()?;
    Ok(exp.into_endpoint().cast::<Base::Exp<Base::Start>>().is_ok())
}

/// A converted endpoint is used as its new type.
fn as_the_base() -> Check {
    let (imp, exp) = Derived::new_channel()?;
    let service: Base::Exp<Base::Start> = exp.into();
    let client: Base::Imp<Base::Start> = imp.into();
    let _bound = service.send_success();
    Ok(client.recv_success().is_ok())
}

/// An endpoint can be converted to a permission in any state, and lent; the other side notices
/// nothing.
fn permissions() -> Check {
    let (imp, exp) = Store::new_channel()?;
    let waiting: Reader::Imp<Reader::Start_Put> = imp.send_put(3).into();
    let Store::exp::Start::Put(3, exp) = exp.recv() else {
        return Ok(false);
    };
    let exp = exp.send_value(3);
    let (3, reader) = waiting.recv_value()? else {
        return Ok(false);
    };
    let (lender, borrower) = Lender::new_channel()?;
    drop(lender.send_lend(reader));
    let (reader, _borrower) = borrower.recv_lend()?;
    // It cannot be undone.
    let Err(reader) = reader.into_endpoint().cast::<Store::Imp<Store::Start>>() else {
        return Ok(false);
    };
    let Ok(reader) = reader.cast::<Reader::Imp<Reader::Start>>() else {
        return Ok(false);
    };
    let reader = reader.send_get();
    let Store::exp::Start::Get(exp) = exp.recv() else {
        return Ok(false);
    };
    let _exp = exp.send_value(4);
    Ok(reader.recv_value()?.0 == 4)
}

fn node(value: i32) -> Result<Node, Error> {
    Ok(Node {
        value,
        at: Point {
            x: -value,
            y: 7,
            colour: Colour::Green,
            z: 0.5,
        },
        name: Text::new(&format!("node {value}"))?,
        left: None,
        others: None,
    })
}

/// A tree of `count` nodes, each with up to three below it.
fn grow(count: i32) -> Result<Node, Error> {
    let mut root = node(count)?;
    let left = count / 2;
    if left > 0 {
        root.left = Some(Record::new(grow(left)?)?);
    }
    let mut rest = count - 1 - left;
    let mut others = Vec::new();
    while rest > 0 {
        let part = (rest + 1) / 2;
        others.push(grow(part)?);
        rest -= part;
    }
    if !others.is_empty() {
        root.others = Some(Vector::from_elements(others)?);
    }
    Ok(root)
}

/// Adds one to each value, in place; returns the number of nodes.
fn visit(node: &mut Node) -> Option<i32> {
    if node.name.get()? != format!("node {}", node.value) || node.at.x != -node.value {
        return None;
    }
    let mut count = 1;
    if let Some(left) = &mut node.left {
        count += left.with(visit)??;
    }
    if let Some(others) = &mut node.others {
        for i in 0..others.len() {
            count += others.with(i, visit)??;
        }
    }
    Some(count)
}

/// A tree goes there and back by one pointer, is read in place, and leaves nothing behind.
fn trees() -> Check {
    for _ in 0..20 {
        let (imp, exp) = Forest::new_channel()?;
        let waiting = imp.send_plant(Record::new(grow(40)?)?);
        let (mut tree, exp) = exp.recv_plant()?;
        let Some(Some(count)) = tree.with(visit) else {
            return Ok(false);
        };
        let exp = exp.send_grown(tree, count);
        let (tree, 40, imp) = waiting.recv_grown()? else {
            return Ok(false);
        };
        // Taken apart by hand, one path down; the rest is freed with its root.
        let Some(mut at) = tree.into_inner() else {
            return Ok(false);
        };
        while let Some(left) = at.left.take() {
            match left.into_inner() {
                Some(node) => at = node,
                None => return Ok(false),
            }
        }
        drop(exp);
        // This one is never received.
        drop(imp.send_plant(Record::new(grow(3)?)?));
    }
    Ok(true)
}

/// A block that is no tree of this type is not accepted as one, and none of its parts are lost.
fn wrong_trees() -> Check {
    // A name is missing.
    let size = <Node as Content>::SIZE;
    let mut bare: Record<Node> = Record::from_block(Block::new(size)?);
    if bare.with(|_| ()).is_some() || bare.into_inner().is_some() {
        return Ok(false);
    }
    // Too small.
    let small: Record<Node> = Record::from_block(Block::new(size - 1)?);
    if small.into_inner().is_some() {
        return Ok(false);
    }
    // An invalid value; the parts stay in place, and come out once the value is corrected.
    let mut block = Record::new(grow(5)?)?.into_block();
    let colour = block.load_u8(13);
    block.store_u8(13, 9);
    let mut tree: Record<Node> = Record::from_block(block);
    if tree.with(|_| ()).is_some() {
        return Ok(false);
    }
    let mut block = tree.into_block();
    block.store_u8(13, colour);
    let mut tree: Record<Node> = Record::from_block(block);
    Ok(colour == Colour::Green as u8 && tree.with(visit) == Some(Some(5)))
}

/// Values of any size lie in blocks.
fn wide() -> Check {
    let wide = |n: i32| {
        let at = |x| Point {
            x,
            y: 3,
            colour: Colour::Red,
            z: 1.5,
        };
        let (a, i) = (at(n), at(-n));
        Wide {
            a,
            b: a,
            c: a,
            d: a,
            e: a,
            f: a,
            g: a,
            h: a,
            i,
        }
    };
    let mut all = Vector::from_slice(&[wide(1), wide(2)])?;
    let set = all.set(0, wide(3)) && !all.set(2, wide(4));
    let elements = all.into_elements();
    let record = Record::new(wide(5))?;
    let copied = record.get() == Some(wide(5));
    Ok(set
        && copied
        && elements == Some(vec![wide(3), wide(2)])
        && record.into_inner() == Some(wide(5)))
}

/// Bytes that this SIP has in the exchange heap.
fn held() -> Result<u64, Error> {
    let own = sing_sdk::process::id();
    let all = sing_sdk::inspect::processes()?;
    let own = all.iter().find(|p| p.id == own);
    own.map(|p| p.exchange).ok_or(Error::NotFound)
}

/// A check that leaves nothing behind in the exchange heap.
fn tidily(check: fn() -> Check) -> Check {
    let before = held()?;
    let passed = check()?;
    let after = held()?;
    if after != before {
        println!("contracts: {before} bytes held before, {after} after");
    }
    Ok(passed && after == before)
}

/// A check.
#[sing_sdk::main]
fn main() -> i32 {
    let checks: [Test; 19] = [
        ("there and back", there_and_back),
        ("scalars", scalars),
        ("structs", structs),
        ("absent", absent),
        ("absent blocks", absent_blocks),
        ("parcels", parcels),
        ("blocks", blocks),
        ("bursts", bursts),
        ("at once", at_once),
        ("polling", polling),
        ("closing", closing),
        ("calls of the closed", calls_of_the_closed),
        ("casts", casts),
        ("casts to the base", casts_to_the_base),
        ("as the base", as_the_base),
        ("permissions", permissions),
        ("trees", trees),
        ("wrong trees", wrong_trees),
        ("wide", wide),
    ];
    if sing_sdk::args::get(1).as_deref() == Some("violate") {
        // The sender is responsible for the conditions of its messages.
        if let Ok((imp, _exp)) = Small::new_channel() {
            drop(imp.send_say(1000));
        }
        return 1;
    }
    checks::run(
        "contracts",
        checks.map(|(name, check)| (name, move || tidily(check))),
    )
}
