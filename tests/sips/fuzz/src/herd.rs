//! The contract between the SIPs of a herd: words in registers and in memory, blocks with and
//! without parts, endpoints of the same contract. The fuzzer reads the text here, and puts it into
//! the programs of the herd.

sing_sdk::contract!(
    "
    rep struct HerdNode { ulong number; HerdNode*? in ExHeap part; }
    contract Herd {
      in message Nothing();
      in message Words(long a, long b, long c);
      in message Many(long a, long b, long c, long d, long e, long f);
      in message Small(int x) requires x > 0;
      in message Give(byte[] in ExHeap data);
      in message Two(HerdNode* in ExHeap a, byte[] in ExHeap b);
      in message Move(Herd.Imp:Start e);
      in message Mixed(long a, byte[] in ExHeap data, Herd.Imp:Start e, long z);
      out message Ok();
      out message Back(byte[] in ExHeap data);
      out message Lots(long a, long b, long c, long d);
      state Start: one {
        Nothing? -> Taken;
        Words? -> Taken;
        Many? -> Taken;
        Small? -> Taken;
        Give? -> Taken;
        Two? -> Taken;
        Move? -> Taken;
        Mixed? -> Taken;
      }
      state Taken: one { Ok! -> Start; Back! -> Start; Lots! -> Start; }
    }
    "
);
