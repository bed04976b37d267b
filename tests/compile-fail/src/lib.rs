//! Contracts for programs that must not compile (`fail/`), each with the message that the compiler
//! gives, and for some that must (`pass/`).
#![deny(unsafe_code)]

sing_sdk::contract!(
    "
    /// The contract of the papers' first example.
    contract C1 {
      in message Request(int x) requires x > 0;
      out message Reply(int y);
      out message Error();
      state Start: Request? -> (Reply! or Error!) -> Start;
    }

    /// One answer only.
    contract Echo {
      in message Say(int x);
      out message Said(int x);
      state Start: Say? -> Said! -> Start;
    }

    enum Colour { Red, Green }
    rep struct Point { int x; int y; Colour colour; }

    /// Blocks and endpoints move.
    contract Store {
      in message Put(byte[] in ExHeap data, Point at);
      in message Points(Point[] in ExHeap all);
      in message Name(char[] in ExHeap name);
      in message Serve(Echo.Exp:Start service);
      out message Ok();
      state Start: one {
        Put? -> Ok! -> Start;
        Points? -> Ok! -> Start;
        Name? -> Ok! -> Start;
        Serve? -> Ok! -> closed;
      }
    }

    contract Base { out message Success(); state Start: Success! -> Bound; state Bound; }
    contract Derived : Base {
      in message Work();
      override state Start: Success! -> Ready;
      state Ready: Work? -> Success! -> Ready;
    }

    /// Only who imports keeps what Echo lets it expect: who exports could be asked for more.
    contract LoudEcho : Echo {
      in message Shout();
      override state Start: (Say? or Shout?) -> Said! -> Start;
    }

    /// May look, and nothing else.
    contract Lister narrows Store.Imp { Points; Name; }

    /// A tree: children move and are freed with what they hang on.
    rep struct Node {
      int value;
      char[] in ExHeap name;
      Node*? in ExHeap left;
      Node[]? in ExHeap others;
    }
    contract Forest {
      in message Plant(Node* in ExHeap tree);
      in message Visit(Lister.Imp:Start who);
      state Start: (Plant? or Visit?) -> closed;
    }
    ",
    const TEXT
);

sing_sdk::contract!(
    "
    enum Hue { Warm, Cold }
    rep struct Lit { int? level; Hue? hue; }
    /// Values that may be absent.
    contract Lamp {
      in message Set(int? level, Hue? hue) requires !level.HasValue || level.Value <= 100;
      in message Put(Lit lit);
      out message Was(Lit? lit);
      state Start: (Set? or Put?) -> Was! -> Start;
    }
    ",
    const LAMP
);

sing_sdk::contract!(
    "
    /// What it requires is about numbers that the kernel does not compute with: the receiver has to
    /// look.
    contract Dial {
      in message Turn(double by) requires by < 1 && by > -1;
      out message Turned();
      state Start: Turn? -> Turned! -> Start;
    }
    ",
    const DIAL
);
