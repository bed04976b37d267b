//! The check of a bystander: whether its state is unchanged.

sing_sdk::contract!(
    "
    contract Check {
      in message Ask(uint n, byte[] in ExHeap data);
      out message Whole(uint n, byte[] in ExHeap data);
      out message Hurt(uint what);
      state Start: Ask? -> (Whole! or Hurt!) -> Start;
    }
    "
);

/// How many bytes travel with a question.
pub const BYTES: usize = 3000;

/// The bytes of a question.
pub fn bytes(n: u32) -> impl Iterator<Item = u8> {
    (0..BYTES as u32).map(move |i| (i.wrapping_mul(0x9e37_79b9) ^ n).to_le_bytes()[1])
}
