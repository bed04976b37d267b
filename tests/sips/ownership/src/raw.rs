//! The kernel's entries, without the SDK's wrappers, whose types would prevent some of the
//! operations.

use sing_sdk::contract;

contract!(
    "
    rep struct Node { ulong number; Node*? in ExHeap part; }
    contract Trade {
      in message Put(Node* in ExHeap data);
      in message Two(Node* in ExHeap a, Node* in ExHeap b);
      in message Move(Trade.Imp:Start e);
      out message Ok();
      state Start: one { Put? -> Taken; Two? -> Taken; Move? -> Taken; }
      state Taken: Ok! -> Start;
    }
    "
);

#[link(wasm_import_module = "sing_v1")]
unsafe extern "C" {
    pub safe fn handle_dispose(handle: u32) -> i32;
    pub safe fn endpoint_peek(handle: u32) -> i32;
    pub safe fn set_create() -> i32;
    pub safe fn set_add(set: u32, endpoint: u32, key: u32) -> i32;
    pub safe fn set_remove(set: u32, endpoint: u32) -> i32;
    pub safe fn set_wait(set: u32, timeout: i64) -> i32;
    pub safe fn select(handles: u32, tags: u32, count: u32, timeout: i64) -> i32;
    pub safe fn xh_alloc(size: u32, ty: u32) -> i32;
    pub safe fn xh_free(handle: u32) -> i32;
    pub safe fn xh_size(handle: u32) -> i32;
    pub safe fn xh_share(handle: u32, start: u32, end: u32) -> i32;
    pub safe fn xh_split(handle: u32, offset: u32) -> i32;
    pub safe fn xh_unshare(handle: u32) -> i32;
    pub safe fn xh_load8(handle: u32, offset: u32) -> i32;
    pub safe fn xh_store8(handle: u32, offset: u32, value: i32);
    pub safe fn xh_attach(handle: u32, offset: u32, child: u32) -> i32;
    pub safe fn xh_detach(handle: u32, offset: u32) -> i32;
    pub safe fn xh_park(handle: u32) -> i32;
    pub safe fn xh_unpark(parked: u32) -> i32;
}

#[link(wasm_import_module = "contract:Trade")]
unsafe extern "C" {
    pub safe fn new(out: u32) -> i32;
    #[link_name = "imp.send.Put"]
    pub safe fn send_put(endpoint: u32, data: i64) -> i32;
    #[link_name = "imp.send.Two"]
    pub safe fn send_two(endpoint: u32, a: i64, b: i64) -> i32;
    #[link_name = "imp.send.Move"]
    pub safe fn send_move(endpoint: u32, e: i64) -> i32;
    #[link_name = "exp.send.Ok"]
    pub safe fn send_ok(endpoint: u32) -> i32;
    #[link_name = "imp.recv"]
    pub safe fn recv_imp(endpoint: u32, out: u32) -> i32;
    #[link_name = "exp.recv"]
    pub safe fn recv_exp(endpoint: u32, out: u32) -> i32;
}

/// The address of an array in memory, for an entry that reads or writes it.
pub fn address<T>(array: &mut [T]) -> u32 {
    array.as_mut_ptr().expose_provenance() as u32
}
