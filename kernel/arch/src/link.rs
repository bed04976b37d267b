//! References between kernel objects, and intrusive doubly linked lists of them.
//!
//! A link is a relaxed atomic pointer: reading or writing one compiles to a plain move, and a race
//! can yield an old reference but never a broken one, as the objects are never freed. A list is
//! consistent if its owner keeps it under a lock.

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A reference to a kernel object, or none.
pub struct Link<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Default for Link<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync> Link<T> {
    /// Makes a link without a reference.
    #[must_use]
    pub const fn new() -> Self {
        Link(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the reference.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: the pointer is null or came from a `&'static T` in `set`, the only place that
        // stores one.
        unsafe { self.0.load(Ordering::Relaxed).as_ref() }
    }

    /// Sets the reference.
    #[inline(always)]
    pub fn set(&self, to: Option<&'static T>) {
        let p = to.map_or(ptr::null_mut(), |t| ptr::from_ref(t).cast_mut());
        self.0.store(p, Ordering::Relaxed);
    }

    /// Removes and returns the reference.
    #[inline(always)]
    pub fn take(&self) -> Option<&'static T> {
        let t = self.get();
        if t.is_some() {
            self.set(None);
        }
        t
    }

    /// Whether it refers to `to`.
    #[inline(always)]
    pub fn is(&self, to: &'static T) -> bool {
        ptr::eq(self.0.load(Ordering::Relaxed), to)
    }
}

/// The part of an object by which it stands in a [`List`] of this role.
pub struct Node<T: 'static, Role: 'static = ()> {
    next: Link<T>,
    previous: Link<T>,
    /// Address of the list that the object is in, or null.
    list: AtomicPtr<List<T, Role>>,
}

impl<T: Sync, Role> Default for Node<T, Role> {
    fn default() -> Self {
        Node {
            next: Link::new(),
            previous: Link::new(),
            list: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl<T: Sync, Role> Node<T, Role> {
    /// Bytes from a node to the address of the list that it is in, for debuggers.
    pub const LIST: usize = core::mem::offset_of!(Node<T, Role>, list);

    /// Whether the object is in some list.
    #[inline(always)]
    pub fn is_linked(&self) -> bool {
        !self.list.load(Ordering::Relaxed).is_null()
    }
}

/// An object with a node. An object that can be in several lists at a time has a node for each
/// role, a type that only names the use.
pub trait Linked<Role: 'static = ()>: Sync + Sized + 'static {
    /// Returns the node.
    fn node(&self) -> &Node<Self, Role>;
}

/// A list of objects, first in first out. An object is in at most one list of a role.
pub struct List<T: 'static, Role: 'static = ()> {
    first: Link<T>,
    last: Link<T>,
    role: PhantomData<fn() -> Role>,
}

impl<T: Linked<Role>, Role> Default for List<T, Role> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Linked<Role>, Role> List<T, Role> {
    /// Makes an empty list.
    #[must_use]
    pub const fn new() -> Self {
        List {
            first: Link::new(),
            last: Link::new(),
            role: PhantomData,
        }
    }

    /// Whether the list is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    /// Returns the first object.
    #[inline(always)]
    pub fn first(&self) -> Option<&'static T> {
        self.first.get()
    }

    /// Whether an object is the last one.
    #[inline(always)]
    pub fn is_last(&self, t: &'static T) -> bool {
        self.last.is(t)
    }

    /// Adds an object at the end.
    ///
    /// # Panics
    /// If the object is in a list already.
    #[inline(always)]
    pub fn push(&self, t: &'static T) {
        let node = t.node();
        assert!(!node.is_linked(), "kernel object in two lists");
        node.list
            .store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
        node.next.set(None);
        let last = self.last.get();
        node.previous.set(last);
        match last {
            Some(l) => l.node().next.set(Some(t)),
            None => self.first.set(Some(t)),
        }
        self.last.set(Some(t));
    }

    /// Adds at the beginning.
    ///
    /// # Panics
    /// If it stands in a list already.
    pub fn push_front(&self, t: &'static T) {
        let node = t.node();
        assert!(!node.is_linked(), "kernel object in two lists");
        node.list
            .store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
        node.previous.set(None);
        let first = self.first.get();
        node.next.set(first);
        match first {
            Some(f) => f.node().previous.set(Some(t)),
            None => self.last.set(Some(t)),
        }
        self.first.set(Some(t));
    }

    /// Takes the first object out.
    #[inline(always)]
    pub fn pop(&self) -> Option<&'static T> {
        let t = self.first.get()?;
        let node = t.node();
        let next = node.next.get();
        self.first.set(next);
        match next {
            Some(n) => n.node().previous.set(None),
            None => self.last.set(None),
        }
        node.list.store(ptr::null_mut(), Ordering::Relaxed);
        Some(t)
    }

    /// Removes an object from anywhere in this list. Returns false if it is not in this list.
    #[inline]
    pub fn remove(&self, t: &'static T) -> bool {
        let node = t.node();
        if !ptr::eq(node.list.load(Ordering::Relaxed), self) {
            return false;
        }
        let (previous, next) = (node.previous.get(), node.next.get());
        match previous {
            Some(p) => p.node().next.set(next),
            None => self.first.set(next),
        }
        match next {
            Some(n) => n.node().previous.set(previous),
            None => self.last.set(previous),
        }
        node.list.store(ptr::null_mut(), Ordering::Relaxed);
        true
    }

    /// Moves all of `from` to the end, in order; takes time in proportion to the length of `from`.
    pub fn append(&self, from: &List<T, Role>) {
        while let Some(t) = from.pop() {
            self.push(t);
        }
    }

    /// Whether an object is in this list.
    #[inline]
    pub fn holds(&self, t: &T) -> bool {
        ptr::eq(t.node().list.load(Ordering::Relaxed), self)
    }

    /// Returns the object behind `object`, in whichever list both are.
    #[inline]
    pub fn after(t: &T) -> Option<&'static T> {
        t.node().next.get()
    }

    /// Iterates over the objects, first to last; the list must not change meanwhile.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + use<T, Role> {
        let mut at = self.first.get();
        core::iter::from_fn(move || {
            let t = at?;
            at = t.node().next.get();
            Some(t)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    #[derive(Default)]
    struct Item {
        node: Node<Item>,
        n: u32,
    }
    impl Linked for Item {
        fn node(&self) -> &Node<Item> {
            &self.node
        }
    }

    fn order(l: &List<Item>) -> Vec<u32> {
        l.iter().map(|i| i.n).collect()
    }

    #[test]
    fn keeps_order_and_removes_anywhere() {
        let items: Vec<&'static Item> = (0..5)
            .map(|n| {
                &*Box::leak(Box::new(Item {
                    n,
                    ..Item::default()
                }))
            })
            .collect();
        let (a, b): (List<Item>, List<Item>) = (List::new(), List::new());
        items.iter().for_each(|i| a.push(i));
        assert!(a.remove(items[2]) && a.remove(items[0]) && a.remove(items[4]));
        assert!(!a.remove(items[4]) && !b.remove(items[1]));
        assert_eq!(order(&a), [1, 3]);
        b.push(items[0]);
        b.append(&a);
        assert_eq!(order(&b), [0, 1, 3]);
        assert!(a.is_empty());
        assert_eq!(b.pop().map(|i| i.n), Some(0));
        assert_eq!(b.pop().map(|i| i.n), Some(1));
        assert_eq!(b.pop().map(|i| i.n), Some(3));
        assert!(b.pop().is_none() && b.is_empty());
    }

    struct Other;
    #[derive(Default)]
    struct Twice {
        node: Node<Twice>,
        other: Node<Twice, Other>,
    }
    impl Linked for Twice {
        fn node(&self) -> &Node<Twice> {
            &self.node
        }
    }
    impl Linked<Other> for Twice {
        fn node(&self) -> &Node<Twice, Other> {
            &self.other
        }
    }

    #[test]
    fn one_list_for_each_role() {
        let i: &'static Twice = Box::leak(Box::default());
        let (a, b): (List<Twice>, List<Twice, Other>) = (List::new(), List::new());
        a.push(i);
        b.push(i);
        assert!(a.holds(i) && b.holds(i));
        assert!(a.remove(i) && !a.holds(i) && b.holds(i));
        assert!(List::<Twice, Other>::after(i).is_none());
    }

    #[test]
    #[should_panic(expected = "two lists")]
    fn refuses_a_second_list() {
        let i: &'static Item = Box::leak(Box::default());
        let (a, b): (List<Item>, List<Item>) = (List::new(), List::new());
        a.push(i);
        b.push(i);
    }
}
