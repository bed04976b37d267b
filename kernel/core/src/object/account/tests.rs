//! Tests of accounts against a model that sums up every charge.

use super::shares::{FLOOR_LESS, FLOOR_PART};
use super::stock::KEPT_PART;
use super::*;
use alloc::vec::Vec;

/// A small pseudo-random generator with a fixed sequence.
struct Steps(u64);

impl Steps {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// An account, what is charged to it alone, and whether its SIP is there.
struct Known {
    account: &'static Account,
    parent: usize,
    own: u64,
    open: bool,
}

fn root(limit: u64) -> &'static Account {
    Account::make_root(limit).unwrap()
}

/// The charges to an account and its descendants, summed up in the model.
fn sum(all: &[Known], of: usize) -> u64 {
    let below = |(i, k): (usize, &Known)| {
        if k.parent == of && i != of {
            sum(all, i) + COST
        } else {
            0
        }
    };
    all[of].own + all.iter().enumerate().map(below).sum::<u64>()
}

#[test]
fn what_is_charged_counts_for_all_above_and_comes_back() {
    let _alone = crate::alone();
    let root = root(64 << 20);
    let mut steps = Steps(0x9e37_79b9_7f4a_7c15);
    let mut all = alloc::vec![Known {
        account: root,
        parent: 0,
        own: 0,
        open: true
    }];
    for _ in 0..20_000 {
        let at = steps.next(all.len() as u64) as usize;
        match steps.next(8) {
            0 if all.len() < 60 && all[at].open => {
                let limit = [1 << 20, 8 << 20, u64::MAX][steps.next(3) as usize];
                if let Ok(account) = all[at].account.open(limit) {
                    all.push(Known {
                        account,
                        parent: at,
                        own: 0,
                        open: true,
                    });
                }
            }
            1 if at != 0
                && all[at].own == 0
                && all[at].open
                && steps.next(10) == 0
                && all[at].account.charge(1) =>
            {
                // An account with children stays in the list as closed.
                all[at].open = false;
                all[at].own += 1;
                all[at].account.close();
            }
            2 if at != 0 && all[at].own > u64::from(!all[at].open) => {
                let to = steps.next(all.len() as u64) as usize;
                let bytes = 1 + steps.next(all[at].own - u64::from(!all[at].open));
                if to != 0 && all[at].account.move_to(all[to].account, bytes) {
                    all[at].own -= bytes;
                    all[to].own += bytes;
                }
            }
            3..=4 if at != 0 && all[at].open => {
                let most = 1 << steps.next(20);
                let bytes = 1 + steps.next(most);
                if all[at].account.charge(bytes) {
                    all[at].own += bytes;
                    let account = all[at].account;
                    let limit = account.limit.load(Relaxed);
                    assert!(account.taken.load(Relaxed) - account.stock.load(Relaxed) <= limit);
                }
            }
            _ if at != 0 && all[at].own > u64::from(!all[at].open) => {
                let bytes = 1 + steps.next(all[at].own - u64::from(!all[at].open));
                all[at].account.discharge(bytes);
                all[at].own -= bytes;
            }
            _ => {}
        }
        let (account, stock) = (all[at].account, all[at].account.stock.load(Relaxed));
        assert!(stock <= account.taken.load(Relaxed));
        assert!(
            all.iter()
                .all(|k| k.account.taken.load(Relaxed) <= k.account.limit.load(Relaxed))
        );
        assert_eq!(root.taken.load(Relaxed), 64 << 20);
    }
    assert!(all.len() > 20);
    // All charges of the model are in the accounts, beside the stocks of descendants.
    for (i, k) in all.iter().enumerate() {
        let stocks: u64 = stocks_below(&all, i);
        assert_eq!(k.account.charged(), sum(&all, i) + stocks, "account {i}");
    }
    // In any order, everything is returned.
    while all.len() > 1 {
        let at = 1 + steps.next(all.len() as u64 - 1) as usize;
        let k = all.swap_remove(at);
        if k.open {
            k.account.close();
        }
        if k.own > 0 {
            k.account.discharge(k.own);
        }
        k.account.release();
    }
    assert_eq!((root.charged(), root.children.lock().count), (0, 0));
    assert_eq!(root.references.load(Relaxed), 1);
}

fn stocks_below(all: &[Known], of: usize) -> u64 {
    let below = |(i, k): (usize, &Known)| {
        if k.parent == of && i != of {
            k.account.stock.load(Relaxed) + stocks_below(all, i)
        } else {
            0
        }
    };
    all.iter().enumerate().map(below).sum()
}

#[test]
fn nothing_is_refused_that_fits() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let parent = root.open(1 << 20).unwrap();
    let children: Vec<&Account> = (0..10).map(|_| parent.open(u64::MAX).unwrap()).collect();
    // Each takes stock for a single byte of its own.
    assert!(children.iter().all(|c| c.charge(1)));
    let floor = (1 << 20) / (FLOOR_PART + FLOOR_LESS);
    let rest = (1 << 20) - floor - 10 * (COST + 1);
    assert!(!children[3].charge(rest + 1));
    assert!(children[3].charge(rest));
    assert!(!children[3].charge(1));
    // The others have their shares of the children's part of the floor.
    let share = floor / 2 / 10;
    for child in children
        .iter()
        .filter(|c| c.index.load(Relaxed) != children[3].index.load(Relaxed))
    {
        assert!(!child.charge(share) && child.charge(share - 1));
    }
    // The rest is for the parent alone.
    let own = floor - 9 * (share - 1);
    assert!(own >= floor / 2 && parent.charge(own) && !parent.charge(1));
    assert_eq!(parent.charged(), 1 << 20);
    // The charges of a closed account still count in its parent.
    children[3].close();
    children[3].release();
    assert!(!parent.charge(1));
    children[3].discharge(rest);
    assert!(parent.charge(rest) && !parent.charge(1));
}

#[test]
fn those_who_have_much_leave_room_for_those_who_have_little() {
    let _alone = crate::alone();
    // The machine is exhausted, not a limit, and all accounts are far from the root.
    let root = root(128 << 20);
    let shell = root.open(u64::MAX).unwrap();
    let job = shell.open(u64::MAX).unwrap();
    let beside = shell.open(64 << 20).unwrap();
    let gluttons: Vec<&Account> = (0..17).map(|_| job.open(8 << 20).unwrap()).collect();
    let take_all = |a: &'static Account| {
        for bytes in [1 << 16, 1 << 10, 1] {
            while a.charge(bytes) {}
        }
    };
    gluttons.iter().for_each(|g| take_all(g));
    let had: Vec<u64> = gluttons.iter().map(|g| g.charged()).collect();
    // The last ones got their share only.
    assert!(
        had[0] == 8 << 20 && had.iter().all(|&h| h >= 150 << 10),
        "{had:?}"
    );
    // A new account can start, there and elsewhere, and so can its child.
    let late = job.open(8 << 20).unwrap();
    assert!(late.charge(150 << 10));
    assert!(beside.charge(300 << 10));
    assert!(beside.open(1 << 20).unwrap().charge(10 << 10));
    assert!(shell.open(u64::MAX).unwrap().charge(300 << 10));
    // Their parent can act; the rest of the system has its share beside all of them.
    assert!(job.charge(1 << 20));
    while job.charge(1 << 10) {}
    assert!(shell.charge(1 << 20) && root.open(u64::MAX).unwrap().charge(400 << 10));
}

#[test]
fn where_there_is_plenty_a_survey_would_say_the_same() {
    let _alone = crate::alone();
    let mut steps = Steps(0x2545_f491_4f6c_dd1d);
    let (mut plenty, mut short) = (0, 0);
    for _ in 0..100 {
        let root = root(1 << (20 + steps.next(16)));
        let mut all = alloc::vec![root];
        for _ in 0..200 {
            let at = all[steps.next(all.len() as u64) as usize];
            let size = 10 + steps.next(20);
            let bytes = steps.next(1 << size);
            match steps.next(3) {
                0 => {
                    let limit = [64 << 20, 1 << 30, u64::MAX][steps.next(3) as usize];
                    all.extend(at.open(limit).ok());
                }
                1 => drop(at.charge(bytes)),
                _ if at.has_ample_room(bytes) && bytes > at.stock.load(Relaxed) => {
                    plenty += 1;
                    at.survey();
                    assert!(at.walk(bytes, CHUNK, false));
                    // The walk that follows succeeds.
                    assert!(at.charge(bytes));
                }
                _ => short += 1,
            }
        }
    }
    assert!(plenty > 500 && short > 500, "{plenty} {short}");
}

#[test]
fn what_is_received_leaves_a_reserve_and_never_exceeds_a_limit() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let (sender, beside) = (root.open(u64::MAX).unwrap(), root.open(u64::MAX).unwrap());
    // A sibling of the sender, a child of it, and an account elsewhere.
    for parent in [root, sender, beside] {
        let account = parent.open(1 << 20).unwrap();
        assert!(account.charge(100_000) && sender.charge(8 << 20));
        assert!(!sender.move_to(account, 1 << 20));
        let before = sender.charged();
        let mut moved = 0;
        while sender.move_to(account, 10_000) {
            moved += 10_000;
        }
        assert!(
            sender.charged() + moved == before
                || parent.index.load(Relaxed) == sender.index.load(Relaxed)
        );
        // The rest is available to its own requests.
        let rest = (1 << 20) - 100_000 - moved;
        let quarter = (1 << 20) / RESERVE_PART;
        assert!((quarter..quarter + 10_000).contains(&rest), "{rest}");
        // Even if it has it in stock.
        assert!(account.charge(rest));
        account.discharge(rest);
        assert!(!sender.move_to(account, 10_000));
        assert!(account.charge(rest) && !account.charge(1));
        assert!(!sender.move_to(account, 1));
        // A charge that moves to the parent has counted there before.
        assert!(account.move_to(parent, 50_000) || parent.parent.get().is_none());
        account.close();
        let left = account.charged();
        account.discharge(left);
        account.release();
        if parent.parent.get().is_some() {
            parent.discharge(50_000);
        }
        sender.discharge((8 << 20) - moved);
    }
    assert_eq!(root.taken.load(Relaxed), 1 << 30);
}

#[test]
fn what_is_received_where_the_machine_is_full_makes_no_room() {
    let _alone = crate::alone();
    const MIB: u64 = 1 << 20;
    let root = root(64 * MIB);
    let maker = root.open(u64::MAX).unwrap();
    let (left, right) = (maker.open(u64::MAX).unwrap(), maker.open(u64::MAX).unwrap());
    let (a, b) = (left.open(u64::MAX).unwrap(), right.open(u64::MAX).unwrap());
    assert!(a.charge(8 * MIB));
    let (mut from, mut to) = (a, b);
    for _ in 0..20 {
        // The parent takes what there is; then a block is to move from one grandchild to the other.
        while maker.charge(MIB / 4) {}
        if from.move_to(to, 8 * MIB) {
            (from, to) = (to, from);
        }
    }
    while maker.charge(MIB / 4) {}
    assert_eq!(root.taken.load(Relaxed), 64 * MIB);
    assert!(root.charged() <= 64 * MIB);
}

#[test]
fn what_a_sip_holds_at_the_cost_of_others_keeps_its_account() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let account = root.open(1 << 20).unwrap();
    assert!(account.may_borrow());
    account.borrow(BORROWED_MOST - 1);
    assert!(account.may_borrow());
    account.borrow(1);
    assert!(!account.may_borrow());
    account.close();
    account.release();
    account.no_longer_borrow(1);
    assert_eq!(root.children.lock().count, 1);
    account.no_longer_borrow(BORROWED_MOST - 1);
    assert_eq!((root.children.lock().count, root.charged()), (0, 0));
}

#[test]
fn one_child_of_the_root_leaves_room_for_the_others() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let (greedy, other) = (root.open(u64::MAX).unwrap(), root.open(u64::MAX).unwrap());
    let made = greedy.open(u64::MAX).unwrap();
    while made.charge(1 << 16) {}
    while made.charge(64) {}
    let floor = (1 << 30) / FLOOR_PART;
    assert!(root.stock.load(Relaxed) >= floor);
    // Its parent can still act, and others can still start.
    assert!(greedy.charge(floor / 4) && other.charge(floor / 20));
    while greedy.charge(1 << 16) {}
    assert!(other.charge(1 << 16) && root.open(u64::MAX).is_ok());
}

#[test]
fn the_tree_is_only_so_deep() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let mut chain = alloc::vec![root];
    let refused = loop {
        match chain[chain.len() - 1].open(u64::MAX) {
            Ok(account) => chain.push(account),
            Err(refused) => break refused,
        }
    };
    assert_eq!((chain.len(), refused), (256, Refused::TooDeep));
    // All but the last one end; its charges still count above.
    for account in &chain[1..255] {
        account.close();
        account.release();
    }
    let last = chain[255];
    assert!(last.charge(1 << 20));
    assert!(root.charged() >= 1 << 20);
    last.close();
    last.discharge(1 << 20);
    last.release();
    assert_eq!(root.charged(), 0);
}

#[test]
fn a_discharge_costs_the_same_below_a_long_chain_of_ended_makers() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let mut chain = alloc::vec![root];
    for _ in 0..250 {
        let account = chain[chain.len() - 1].open(u64::MAX).unwrap();
        chain.push(account);
    }
    // Each leaves channels that the last one still uses.
    let (each, channel) = (344, 600);
    for account in &chain[1..] {
        (0..each).for_each(|_| assert!(account.charge(channel)));
    }
    for account in &chain[1..] {
        account.close();
        account.release();
    }
    let steps = || chain.iter().map(|a| a.steps.load(Relaxed)).sum::<u64>();
    let before = steps();
    for account in &chain[1..] {
        (0..each).for_each(|_| account.discharge(channel));
    }
    assert_eq!((root.charged(), root.references.load(Relaxed)), (0, 1));
    let steps = steps() - before;
    // Stock is returned upward in chunks: a few steps for each, instead of 125 one by one.
    let discharges = 250 * each;
    assert!(steps < 6 * discharges, "{steps} steps for {discharges}");
}

#[test]
fn what_goes_to_and_fro_costs_those_above_nothing() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let parent = root.open(u64::MAX).unwrap();
    let (a, b) = (
        parent.open(u64::MAX).unwrap(),
        parent.open(64 << 20).unwrap(),
    );
    for bytes in [1, 4 << 10, 64 << 10, 1 << 20] {
        assert!(a.charge(bytes));
        let round = || {
            assert!(a.move_to(b, bytes) && b.move_to(a, bytes));
            let steps: u64 = [a, b, parent].map(|x| x.steps.load(Relaxed)).iter().sum();
            (steps, parent.charged(), root.charged())
        };
        round();
        let first = round();
        (0..100).for_each(|_| assert_eq!(round(), first, "{bytes} bytes"));
        a.discharge(bytes);
    }
    // The stock kept is bounded, and collected if a limit refuses.
    assert!(parent.charged() <= 3 * (KEPT_MOST + CHUNK) + 2 * COST);
    let limit = parent.limit.swap(parent.charged() + 1, Relaxed);
    let kept = a.stock.load(Relaxed) + b.stock.load(Relaxed);
    assert!(limit == u64::MAX && kept > 1 << 20 && parent.charge(kept));
    // An account with a small limit keeps a small part of it.
    let small = root.open(1 << 20).unwrap();
    assert!(small.charge(1 << 20));
    assert!(small.kept.load(Relaxed) <= (1 << 20) / KEPT_PART);
}

#[test]
fn the_stocks_alone_do_for_what_goes_to_and_fro_between_a_parent_and_its_child() {
    let _alone = crate::alone();
    let root = root(1 << 30);
    let parent = root.open(u64::MAX).unwrap();
    let child = parent.open(64 << 20).unwrap();
    for bytes in [4 << 10, 64 << 10, 1 << 20] {
        assert!(parent.charge(bytes));
        for _ in 0..2 {
            assert!(parent.move_to(child, bytes) && child.move_to(parent, bytes));
        }
        assert!(parent.moves_at_once(child, bytes), "{bytes} bytes there");
        assert!(parent.move_to(child, bytes));
        assert!(child.moves_at_once(parent, bytes), "{bytes} bytes back");
        assert!(child.move_to(parent, bytes));
        parent.discharge(bytes);
    }
}
