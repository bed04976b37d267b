//! The contracts that the papers print compile as they stand there; what the papers leave out with
//! `...` is filled in.

use sing_image::contract::{ContractTable, Hash, NONE, Word, check};
use sing_image::manifest::Side;

fn one(source: &str, name: &str) -> ContractTable {
    let tables = match sing_contract::compile(source) {
        Ok(tables) => tables,
        Err(errors) => panic!(
            "{}",
            errors.iter().map(ToString::to_string).collect::<String>()
        ),
    };
    for t in &tables {
        t.check().unwrap();
    }
    tables.into_iter().find(|t| t.name == name).unwrap()
}

/// Which contract this is in a text.
fn identity(source: &str, name: &str) -> Hash {
    let tables = sing_contract::compile(source).unwrap();
    let at = tables.iter().position(|t| t.name == name).unwrap();
    check(&tables).unwrap()[at]
}

/// All transitions, as `state: sender message -> state`.
fn transitions(table: &ContractTable) -> Vec<String> {
    let mut all = Vec::new();
    for s in 0..table.states.len() {
        for m in 0..table.messages.len() {
            for side in [Side::Imp, Side::Exp] {
                let next = table.next[(s * table.messages.len() + m) * 2 + side.index()];
                if next != NONE {
                    let sign = if side == Side::Imp { '?' } else { '!' };
                    let (name, target) =
                        (&table.messages[m].name, &table.states[usize::from(next)]);
                    all.push(format!("{}: {name}{sign} -> {target}", table.states[s]));
                }
            }
        }
    }
    all
}

const C1: &str = "
contract C1 {
  in message Request(int x) requires x>0;
  out message Reply(int y);
  out message Error();

  state Start: Request?
    -> (Reply! or Error!)
    -> Start;
}
";

#[test]
fn c1() {
    let t = one(C1, "C1");
    assert_eq!(t.states, ["Start", "Start'Request"]);
    assert_eq!(
        transitions(&t),
        [
            "Start: Request? -> Start'Request",
            "Start'Request: Reply! -> Start",
            "Start'Request: Error! -> Start"
        ]
    );
    assert_eq!(t.queue, [1, 1]);
    assert_eq!(t.messages[0].words, [Word::Scalar]);
    assert_eq!(t.messages[0].arguments[0].ty, "int");
}

const TCP: &str = "
public contract TcpConnectionContract {
  in message Connect(uint dstIP, ushort dstPort);

  out message Ready();

  // Initial state
  state Start : Ready! -> ReadyState;

  state ReadyState : one {
    Connect? -> ConnectResult;
    BindLocalEndPoint? -> BindResult;
    Close? -> Closed;
  }

  state BindResult : one {
    OK! -> Bound;
    InvalidEndPoint! -> ReadyState;
  }

  in message Listen();

  state Bound : one {
    Listen? -> ListenResult;
    Connect? -> ConnectResult;
    Close? -> Closed;
  }

  in message BindLocalEndPoint(uint ip, ushort port);
  in message Close();
  out message OK();
  out message InvalidEndPoint();
  out message CouldNotConnect();
  in message Accept(TcpConnectionContract.Exp:Start session);
  out message Accepted();

  state ConnectResult : one {
    OK! -> Connected;
    CouldNotConnect! -> ReadyState;
  }
  state Connected : Close? -> Closed;
  state ListenResult : one {
    OK! -> Listening;
    InvalidEndPoint! -> ReadyState;
  }
  state Listening : one {
    Accept? -> Accepted! -> Listening;
    Close? -> Closed;
  }
  state Closed;
}
";

#[test]
fn tcp_connection() {
    let t = one(TCP, "TcpConnectionContract");
    assert_eq!(t.states[..2], ["Start", "ReadyState"]);
    assert_eq!(t.queue, [1, 1]);
    let all = transitions(&t);
    for expected in [
        "Start: Ready! -> ReadyState",
        "ReadyState: Connect? -> ConnectResult",
        "BindResult: InvalidEndPoint! -> ReadyState",
        "Bound: Listen? -> ListenResult",
        "Listening'Accept: Accepted! -> Listening",
    ] {
        assert!(all.iter().any(|t| t == expected), "{expected} in {all:#?}");
    }
    assert!(!all.iter().any(|t| t.starts_with("Closed:")));
    assert_eq!(t.messages[0].words, [Word::Scalar, Word::Scalar]);
}

/// [O] 5.5.3: "a principal that is allowed to listen but not connect".
#[test]
fn listen_but_not_connect() {
    let source = format!(
        "{TCP} contract TcpListenContract narrows TcpConnectionContract.Imp {{ BindLocalEndPoint; Listen; Accept; Close; }}"
    );
    let (all, left) = (
        one(&source, "TcpConnectionContract"),
        one(&source, "TcpListenContract"),
    );
    let hash = |t: &ContractTable| identity(&source, &t.name);
    let gone: Vec<String> = transitions(&all)
        .into_iter()
        .filter(|t| !transitions(&left).contains(t))
        .collect();
    assert_eq!(
        gone,
        [
            "ReadyState: Connect? -> ConnectResult",
            "Bound: Connect? -> ConnectResult"
        ]
    );
    assert_eq!(
        (&left.states, &left.messages, left.queue),
        (&all.states, &all.messages, all.queue)
    );
    let narrows = left.narrows.as_ref().unwrap();
    assert_eq!(narrows.side, Side::Imp);
    assert_eq!(
        narrows.of,
        [("TcpConnectionContract".to_string(), hash(&all))]
    );
    for (at, state) in (0..).zip(&all.states) {
        let stands = |own: &ContractTable, wanted: &ContractTable, side| {
            own.stands_for(&hash(own), wanted, &hash(wanted), side, (at, at))
        };
        assert!(stands(&all, &left, Side::Imp), "{state}");
        assert!(
            !stands(&left, &all, Side::Imp) && !stands(&all, &left, Side::Exp),
            "{state}"
        );
    }
}

const NAMESPACE: &str = "
public contract ServiceContract {
  out message Success();
  state Start: Success! -> Bound;
  state Bound;
}

public contract NotifyContract {
  in message Changed();
  out message AckChanged();
  state Start: one { Changed? -> AckChanged! -> Start; }
}

rep struct FindResponse {
  int kind;
  long size;
}

public contract NamespaceContract : ServiceContract {
  in message Bind(char[] in path, ServiceContract.Exp:Start exp);
  out message AckBind();
  out message NakBind(ServiceContract.Exp:Start exp);

  in message Notify(char[] in pathSpec, NotifyContract.Imp:Start imp);
  out message AckNotify();
  out message NakNotify(NotifyContract.Imp:Start imp);

  in message Find(char[] in pathSpec);
  out message AckFind(FindResponse[] in results);
  out message NakFind();

  out message Success();

  override state Start: one {
    Success! -> Ready;
  }

  state Ready: one {
    Bind? -> ( AckBind! or NakBind! ) -> Ready;
    Find? -> ( AckFind! or NakFind! ) -> Ready;
    Notify? -> ( AckNotify! or NakNotify! ) -> Ready;
  }
}
";

#[test]
fn namespace() {
    let t = one(NAMESPACE, "NamespaceContract");
    let [base] = &t.bases[..] else {
        panic!("{:?}", t.bases)
    };
    assert_eq!(base.name, "ServiceContract");
    assert_eq!(base.hash, identity(NAMESPACE, "ServiceContract"));
    // Both sides keep their expectations in Start; Bound ends the base. Bound also while the
    // channel is in Ready already; but then an endpoint may come to the exporting side, which is
    // not one of the base that can travel any more.
    let service = one(NAMESPACE, "ServiceContract");
    let places = |names: &[(&str, &str)]| {
        let pairs = names.iter();
        let mut places: Vec<(u16, u16)> = pairs
            .filter_map(|(own, of)| Some((t.state(own)?, service.state(of)?)))
            .collect();
        places.sort_unstable();
        places
    };
    let imp = places(&[("Start", "Start"), ("Bound", "Bound"), ("Ready", "Bound")]);
    let exp = places(&[("Start", "Start"), ("Bound", "Bound")]);
    assert_eq!(base.stands, [imp, exp]);
    assert_eq!(t.states[0], "Start");
    // A message of the base has the same index in the whole family.
    assert_eq!(t.messages[0].name, "Success");
    let all = transitions(&t);
    assert_eq!(all[0], "Start: Success! -> Ready");
    assert!(
        !all.iter().any(|t| t == "Start: Success! -> Bound"),
        "overridden"
    );
    for message in ["Bind", "Find", "Notify"] {
        for answer in ["Ack", "Nak"] {
            let expected = format!("Ready'{message}: {answer}{message}! -> Ready");
            assert!(all.contains(&expected), "{expected}");
        }
    }
    let service = |side| Word::Endpoint {
        contract: "ServiceContract".into(),
        side,
        state: Some("Start".into()),
    };
    assert_eq!(t.messages[1].words, [Word::Block, service(Side::Exp)]);
    assert_eq!(t.queue, [1, 1]);
}

#[test]
fn bases_may_come_after_what_derives_from_them() {
    let (service, rest) = NAMESPACE.split_once("public contract Notify").unwrap();
    let reversed = format!("public contract Notify{rest}{service}");
    assert_eq!(
        one(&reversed, "NamespaceContract"),
        one(NAMESPACE, "NamespaceContract")
    );
}

#[test]
fn repeated_declarations_merge() {
    let tables = sing_contract::compile(&format!("{C1}{NAMESPACE}{C1}")).unwrap();
    assert_eq!(tables.len(), 4);
    assert_eq!(tables.iter().filter(|t| t.name == "C1").count(), 1);
}
