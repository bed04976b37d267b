//! Tests of who pays for a region that several allocations view, and of what a block has of its last owner.

use super::*;
use crate::ground::trusted::tests::small;
use crate::object::account;
use crate::object::sweep::Findings;

/// Bytes of a block, all of one size: the machine of these tests is small.
const BLOCK: u32 = 8 << 10;
/// What a block costs its owner.
const WHOLE: u64 = BLOCK as u64 + OVERHEAD;

/// Two processes' accounts: a sender's and a receiver's.
fn accounts() -> [&'static Account; 2] {
    small();
    let root = account::root().unwrap();
    [0; 2].map(|_| root.open(1 << 20).unwrap())
}

fn block(account: &'static Account) -> (u32, &'static Allocation) {
    assert!(account.charge(cost(BLOCK)));
    allocate(BLOCK, 0, account).unwrap()
}

/// What is charged to each, and their blocks.
fn charged(accounts: [&'static Account; 2]) -> [u64; 2] {
    let mut found = Findings::default();
    sweep(&mut found);
    assert_eq!(found.into_wrong(), [""; 0]);
    accounts.map(Account::charged)
}

/// Ends both processes; nothing is left of them.
fn end(accounts: [&'static Account; 2]) {
    assert_eq!(charged(accounts), [0, 0]);
    for account in accounts {
        account.close();
        account.release();
    }
}

#[test]
fn a_block_costs_its_receiver_nothing_more_once_it_is_freed_while_its_sender_keeps_a_view() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (index, a) = block(sender);
    let (view, _) = a.share(0, 64, sender).unwrap();
    a.charge(receiver);
    assert_eq!(charged(both), [WHOLE, OVERHEAD]);
    free(index);
    assert_eq!(charged(both), [WHOLE, 0]);
    free(view);
    end(both);
}

#[test]
fn a_block_costs_its_receiver_nothing_more_once_it_is_freed_while_its_sender_keeps_a_piece() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (piece, a) = block(sender);
    let (index, rest) = a.split(4).unwrap();
    rest.charge(receiver);
    free(index);
    assert_eq!(charged(both), [WHOLE, 0]);
    free(piece);
    end(both);
}

#[test]
fn a_piece_costs_its_receiver_no_more_than_its_record_whatever_happens_to_the_rest() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (piece, a) = block(sender);
    let (rest, _) = a.split(64).unwrap();
    free(rest);
    a.charge(receiver);
    assert_eq!(charged(both), [BLOCK.into(), OVERHEAD]);
    free(piece);
    end(both);
}

#[test]
fn a_block_is_paid_for_by_its_receiver_once_no_view_of_it_is_left() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (index, a) = block(sender);
    let (view, _) = a.share(0, BLOCK, sender).unwrap();
    let (other, _) = a.split(64).unwrap();
    free(view);
    assert_eq!(charged(both), [WHOLE + OVERHEAD, 0]);
    free(index);
    let rest = get(other).unwrap();
    assert!(rest.due_from(receiver) >= u64::from(BLOCK));
    rest.charge(receiver);
    assert_eq!(charged(both), [0, WHOLE]);
    free(other);
    end(both);
}

#[test]
fn a_part_is_paid_for_with_its_tree_once_no_view_of_it_is_left() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (whole, tree) = block(sender);
    let (part, a) = block(sender);
    let (view, _) = a.share(0, BLOCK, sender).unwrap();
    free(view);
    tree.attach(0, part);
    assert_eq!(charged(both), [2 * WHOLE, 0]);
    tree.charge(receiver);
    assert_eq!(charged(both), [0, 2 * WHOLE]);
    // One that others view stays with the SIP that shared it.
    assert_eq!(tree.detach(0), Some(part));
    let (view, _) = a.share(0, BLOCK, receiver).unwrap();
    tree.attach(0, part);
    tree.charge(sender);
    assert_eq!(charged(both), [WHOLE + OVERHEAD, WHOLE]);
    free(view);
    free(whole);
    while free_deferred(sender, &mut crate::ground::work::Work::step()) {}
    end(both);
}

#[test]
fn a_view_that_moves_on_to_a_third_process_costs_the_one_that_shared_it() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let third = account::root().unwrap().open(1 << 20).unwrap();
    let (index, a) = block(sender);
    let (view, v) = a.share(0, BLOCK, sender).unwrap();
    v.charge(third);
    free(index);
    v.charge(receiver);
    assert_eq!(charged(both), [BLOCK.into(), OVERHEAD]);
    // A second one of them costs its maker the record alone.
    let (again, _) = v.share(0, 64, receiver).unwrap();
    assert_eq!(charged(both), [BLOCK.into(), 2 * OVERHEAD]);
    free(view);
    free(again);
    end(both);
    third.close();
    third.release();
}

#[test]
fn a_process_that_has_ended_pays_for_what_it_shared_while_others_have_it() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    let (index, a) = block(sender);
    let (view, v) = a.share(0, 64, sender).unwrap();
    a.charge(receiver);
    v.charge(receiver);
    sender.close();
    free(index);
    assert_eq!(charged(both), [BLOCK.into(), OVERHEAD]);
    free(view);
    assert_eq!(charged(both), [0, 0]);
    sender.release();
    receiver.close();
    receiver.release();
}

#[test]
fn a_device_never_reaches_what_was_cut_off_even_if_nothing_else_is_left() {
    let _alone = crate::alone();
    let both @ [sender, receiver] = accounts();
    assert!(sender.charge(cost(BLOCK - 8)));
    let (index, a) = allocate(BLOCK - 8, 0, sender).unwrap();
    let (rest, _) = a.split(BLOCK - 100).unwrap();
    assert_eq!(a.own_pages(0, BLOCK - 100), None);
    free(rest);
    a.charge(receiver);
    assert_eq!(charged(both), [0, WHOLE]);
    assert_eq!(a.own_pages(0, BLOCK - 100), None);
    free(index);
    end(both);
}

#[test]
fn a_block_has_nothing_of_what_its_memory_was_before() {
    let _alone = crate::alone();
    let both @ [sender, _] = accounts();
    let mut before = None;
    for len in [BLOCK, BLOCK - 100, BLOCK, BLOCK / 2 + 1, 3000, 4096, 3, 64] {
        assert!(sender.charge(cost(len)));
        let (index, a) = allocate(len, 0, sender).unwrap();
        let mut bytes = alloc::vec![7; len as usize];
        a.block.window().read(0, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0), "{len}");
        bytes.fill(9);
        a.block.window().write(0, &bytes).unwrap();
        // A piece that was just given back is the next of its size.
        let piece = (region_size(len), a.block.get().base());
        if let Some((size, base)) = before.replace(piece) {
            assert_eq!(size == piece.0, base == piece.1, "{len}");
        }
        free(index);
    }
    end(both);
}
