//! The headers compile without a warning, whatever a contract says; what the types promise does not
//! compile otherwise.
//!
//! Tests that run clang have names that begin with `clang_`: `cargo xtask test` leaves them out,
//! and says so, where there is no clang.

use sing_contract_tools::c;
use std::path::PathBuf;
use std::process::Command;

/// Everything that contracts can say, names that C keeps for itself, contracts that speak of each
/// other in a circle.
const RICH: &str = r#"
/// A colour. \
enum Colour : byte { Red = 3, Green = 200 }
enum Far : long { Least = -9223372036854775808, Most = 9223372036854775807 }
enum Top : ulong { Most = 18446744073709551615 }
rep struct Point { int x; byte y; Colour colour; double z; bool on; char letter; }
rep struct Line { Point from; Point to; float register; }
rep struct Node { int key; Node*? in ExHeap left; Other[]? in ExHeap others; char[] in ExHeap name; }
rep struct Other { Node* in ExHeap node; ulong n; }
rep struct Parcel { byte[] in ExHeap data; Small.Exp:Start reply; int count; Point at; }
rep struct Empty { }
rep struct Reading { int? celsius; Colour? colour; Point? at; Empty? nothing; char? unit; bool? valid; double? exact; byte? percent; }
rep struct Log { Reading last; Reading? first; Node*? in ExHeap more; }

rep struct Place { byte[]? in ExHeap data; int n; }
rep struct Pair { long x; long? y; }

contract Small {
  in message Say(int x) requires x > 0 && x * 2 / 3 % 4 - -x < 1000 + 7;
  out message Said(int x);
  state Start: Say? -> Said! -> Start;
}

contract Large {
  in message Numbers(bool a, sbyte b, short c, int d, long e, char f, float g, double h)
    requires g < h && !a && f > f || d == -5, h % 2 < 1.5e0 == false || true;
  in message Shape(Point at, Colour colour, Far far, Top top) requires colour != Colour.Red && at.colour == colour;
  in message Send(Parcel parcel) requires parcel.data.Length > parcel.count;
  in message Row(Point[] in ExHeap points, Point* in ExHeap single, Line[] in ExHeap lines, int* in ExHeap i);
  in message Many(char[] in ExHeap text, bool[] in ExHeap b, double[] in ExHeap d, Colour[] in ExHeap c, char* in ExHeap l)
    requires text.Length + b.Length >= d.Length && c.Length != 0;
  in message Tree(Node* in ExHeap root, Empty nothing);
  in message Perhaps(int? a, Colour? b, float? c, bool? d, Pair? e)
    requires !a.HasValue || a.Value > 3, b.HasValue == d.HasValue, c.HasValue && c.Value > 1 || true,
      !b.HasValue || b.Value != Colour.Red, !d.HasValue || d.Value, !e.HasValue || e.Value.y.HasValue && e.Value.y.Value < e.Value.x;
  in message Absent(byte[]? in ExHeap data, char[]? in ExHeap name, Node*? in ExHeap node, Place place)
    requires data.Length >= name.Length, data.HasValue || !name.HasValue;
  in message Measured(Log* in ExHeap log, Reading[] in ExHeap readings);
  in message Back(Back.Imp:Start back);
  in message Words(int self, int next, int default, int int, int sing_words, int tag);
  out message Done(long a, long b, long c, long d);
  out message Refused();
  out message Gone(Node[]? in ExHeap all);
  message Ball();
  state Start: one {
    Numbers? -> Done! -> Start;
    Shape? -> (Done! or Refused!) -> Start;
    Send? -> Done! -> Start;
    Row? -> Done! -> Start;
    Many? -> Refused! -> closed;
    Tree? -> Ball! -> Ball? -> Start;
    Back? -> Refused! -> Start;
    Perhaps? -> Done! -> Start;
    Measured? -> Refused! -> Start;
    Absent? -> Gone! -> Start;
    Words? -> Refused! -> Start;
  }
}
contract Back { in message Take(Large.Imp:Start large); out message Taken(); state Start: Take? -> Taken! -> Start; }
contract Base { out message Success(); state Start: Success! -> Bound; state Bound; }
contract Derived : Base {
  in message Work(int n);
  override state Start: Success! -> Ready;
  state Ready: Work? -> Success! -> Ready;
}
contract Narrow narrows Large.Imp { Numbers; Ball; }
contract Narrower narrows Narrow.Imp { Ball; }
"#;

struct Folder(PathBuf);

impl Folder {
    /// A folder with the headers of a text.
    fn with(name: &str, text: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("sing-c-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let contracts = match sing_contract::load(text) {
            Ok(contracts) => contracts,
            Err(errors) => panic!("{}", errors[0]),
        };
        for header in c::headers(&contracts).unwrap() {
            std::fs::write(folder.join(header.name), header.text).unwrap();
        }
        Folder(folder)
    }

    /// The errors and warnings of clang for a program; none if it compiles.
    fn compile(&self, program: &str) -> String {
        let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/c");
        let file = self.0.join("program.c");
        std::fs::write(&file, program).unwrap();
        let mut clang = Command::new("clang");
        clang.args([
            "--target=wasm32",
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Os",
            "-c",
        ]);
        clang.arg("-I").arg(&self.0).arg("-I").arg(sdk);
        clang.arg(&file).arg("-o").arg(self.0.join("program.o"));
        let output = clang
            .output()
            .expect("clang is needed: apt-get install clang lld");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), said.is_empty(), "{said}");
        said
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn clang_every_header_compiles_alone_and_with_all_others() {
    // `1.5e0` is no number of the language; conditions compare with whole ones.
    let text = RICH.replace("1.5e0 == false || true", "1 || true");
    let folder = Folder::with("rich", &text);
    let mut all = String::new();
    let names = [
        "Small", "Large", "Back", "Base", "Derived", "Narrow", "Narrower",
    ];
    for name in names {
        let include = format!("#include \"{name}.h\"\n");
        assert_eq!(folder.compile(&include), "", "{name}");
        all.insert_str(0, &include);
    }
    assert_eq!(folder.compile(&all), "");
    // Everything is used once, so that macros and generated bodies are compiled too.
    let program = format!(
        "{all}
        int32_t sip_main(void) {{
          Large_channel ends;
          Large_new_channel(&ends);
          Point at = {{1, 2, Colour_Green, 3.5, true, 'x'}};
          Line_vector lines;
          Line_vector_new(3, &lines);
          Line_vector_set(lines, 1, (Line){{at, at, 0.5f}});
          Node node;
          Node_record root, left;
          Node_record_new((Node){{1, {{0}}, {{0}}, {{0}}}}, &root);
          Node_record_new((Node){{2, {{0}}, {{0}}, {{0}}}}, &left);
          Node_attach_left(root.handle, 0, left);
          if (!Node_detach_left(root.handle, 0, &left) || !Node_record_get(left, &node)) {{ return 1; }}
          Large_Exp_Start_received got = Large_recv(ends.exp);
          switch (got.tag) {{
          case Large_Exp_Start_got_Numbers: return got.Numbers.e > 1 && got.Numbers.a;
          case Large_Exp_Start_got_Shape: return got.Shape.at.x + (got.Shape.far == Far_Least) + (got.Shape.top == Top_Most);
          case Large_Exp_Start_got_Send: SING_CLOSE(got.Send.parcel.reply); return got.Send.parcel.count;
          case Large_Exp_Start_got_Row: return (int32_t)Point_vector_len(got.Row.points);
          case Large_Exp_Start_got_Many: return (int32_t)sing_text_read(got.Many.text, 0, 0);
          case Large_Exp_Start_got_Tree: SING_CLOSE(Large_recv(Large_send_Ball(got.Tree.next)).Ball.next); return 2;
          case Large_Exp_Start_got_Perhaps: return got.Perhaps.a.has_value && got.Perhaps.e.value.y.value == 3 && got.Perhaps.b.value == Colour_Red;
          case Large_Exp_Start_got_Absent:
            Large_send_Gone(got.Absent.next, (Node_vector){{0}});
            return got.Absent.data.handle == 0 && got.Absent.place.data.handle != 0;
          case Large_Exp_Start_got_Measured: {{
            Log log;
            Reading reading;
            bool good = Log_record_get(got.Measured.log, &log) && Reading_vector_get(got.Measured.readings, 0, &reading);
            reading.colour = (Colour_optional){{true, Colour_Green}};
            reading.nothing = (Empty_optional){{.has_value = true}};
            Reading_vector_set(got.Measured.readings, 1, reading);
            return good && log.first.has_value && log.first.value.unit.value == 'c';
          }}
          case Large_Exp_Start_got_Back: Back_send_Take(got.Back.back, ends.imp); return 3;
          case Large_Exp_Start_got_Words: return got.Words.self_ + got.Words.next_ + got.Words.default_ + got.Words.tag;
          case Large_Exp_Start_got_Closed: break;
          }}
          Narrow_Imp_Start narrow;
          Narrower_Imp_Start narrower;
          if (Narrow_Imp_Start_cast(ends.imp.handle, &narrow) && Narrower_Imp_Start_cast(narrow.handle, &narrower)) {{
            SING_CLOSE(narrower);
          }}
          return 0;
        }}"
    );
    assert_eq!(folder.compile(&program), "");
}

/// Names that C, its headers, the compiler or the generated code have already, wherever a contract
/// may use them.
const TAKEN: &str = r#"
rep struct int32_t { int size_t; int INT32_MAX; int int32_t; }
rep struct uint64_t { uint UINT8_MAX; uint uint64_t; uint Colour_Red; }
rep struct size_t { int32_t* in ExHeap inner; size_t*? in ExHeap more; }
enum uint8_t : byte { One = 1, Two = 2 }
enum ptrdiff_t : long { MAX = 5 }
enum Colour : byte { Red = 3, Green = 200 }
contract C {
  in message M(int int32_t) requires int32_t > 0;
  out message R(int int32_t) requires int32_t > 0;
  out message V(int[] in ExHeap int32_t);
  in message Many(ulong uint64_t, int INT32_MAX, byte UINT8_MAX, int __wasm__, int __attribute__, uint UINT64_C)
    requires INT32_MAX > 0 && UINT8_MAX < 9 && __wasm__ == __attribute__ && UINT64_C < 9;
  in message Types(int32_t int32_t, uint64_t uint64_t_, size_t* in ExHeap size_t, uint8_t value, ptrdiff_t ptrdiff_t)
    requires int32_t.int32_t > int32_t.INT32_MAX && value == uint8_t.One && uint64_t_.Colour_Red > 1;
  in message Own(Colour Colour, Colour Colour_Red, Colour Colour_, int C_Imp_S, int C_Imp_S_send_Own)
    requires Colour == Colour_Red && C_Imp_S < C_Imp_S_send_Own;
  in message Values(Colour a, int Colour_Red) requires a == Colour.Red && Colour_Red > 0;
  in message Twice(int int, int int_, int int__, bool sip_main, bool SING_OK, bool typeof, bool _Float16, bool __x);
  in message uint32_t(int x);
  out message tag(int tag, int tag_);
  out message tag_(int x) requires x > 0;
  state S: one {
    M? -> (R! or V! or tag! or tag_!) -> S;
    Many? -> R! -> S; Types? -> R! -> S; Own? -> R! -> S; Values? -> R! -> S; Twice? -> R! -> S; uint32_t? -> R! -> S;
  }
}
contract singularity { in message Go(print.Imp:S print); out message Gone(); state S: Go? -> Gone! -> S; }
contract print { in message Go(); out message Gone(); state S: Go? -> Gone! -> S; }
contract stdint { in message Go(C.Imp:S c); out message Gone(); state S: Go? -> Gone! -> S; }
"#;

#[test]
fn clang_names_that_c_has_already_are_changed() {
    let folder = Folder::with("taken", TAKEN);
    let mut all = String::new();
    for name in ["C", "singularity_", "print_", "stdint_"] {
        let include = format!("#include \"{name}.h\"\n");
        assert_eq!(folder.compile(&include), "", "{name}");
        all += &include;
    }
    let program = format!(
        "{all}
        int32_t sip_main(void) {{
          C_channel ends;
          C_new_channel(&ends);
          C_Imp_S_M_received got = C_call_M(ends.imp, 1);
          switch (got.tag) {{
          case C_Imp_S_M_got_R: return got.R.int32_t__;
          case C_Imp_S_M_got_V: return (int32_t)sing_int_vector_len(got.V.int32_t__);
          case C_Imp_S_M_got_tag: return got.tag_.tag + got.tag_.tag_;
          case C_Imp_S_M_got_tag_: return got.tag__.x;
          case C_Imp_S_M_got_Closed: break;
          }}
          return (int32_t)INT32_MAX;
        }}"
    );
    assert_eq!(folder.compile(&program), "");
}

#[test]
fn values_that_make_a_name_of_c_are_refused() {
    let text = "enum UINT8 { MAX = 1 }
        contract C { in message M(UINT8 x); state S: M? -> closed; }";
    let error = c::headers(&sing_contract::load(text).unwrap()).unwrap_err();
    assert!(error.contains("UINT8_MAX, which C has already"), "{error}");
}

#[test]
fn clang_what_the_types_promise() {
    let folder = Folder::with(
        "promise",
        "contract Small {
           in message Say(int x);
           in message Go();
           out message Said(int x);
           out message No();
           state Start: one { Say? -> (Said! or No!) -> Start; Go? -> Start2; }
           state Start2: No! -> Start;
         }
         contract Quiet narrows Small.Imp { Say; }",
    );
    let program = |body: &str| {
        folder.compile(&format!(
            "#include \"Quiet.h\"\nint32_t body(Small_Imp_Start imp, Small_Exp_Start exp, Quiet_Imp_Start quiet);\n\
             int32_t body(Small_Imp_Start imp, Small_Exp_Start exp, Quiet_Imp_Start quiet) {{\n\
             (void)imp; (void)exp; (void)quiet;\n{body}\nreturn 0; }}"
        ))
    };
    assert_eq!(program("Small_send_Say(imp, 1);"), "");
    for (body, said) in [
        // A send in a state that does not have it, by the other side, by a permission without it.
        (
            "Small_send_Said(exp, 1);",
            "Small_Exp_Start' (aka 'struct Small_Exp_Start') not compatible",
        ),
        (
            "Small_send_Say(exp, 1);",
            "not compatible with any generic association",
        ),
        (
            "Small_send_Say(Small_send_Say(imp, 1), 2);",
            "not compatible with any generic association",
        ),
        ("Quiet_send_Go(quiet);", "Quiet_send_Go"),
        (
            "Small_send_Go(quiet);",
            "not compatible with any generic association",
        ),
        // A receive where only a send can come.
        (
            "Small_recv(imp);",
            "not compatible with any generic association",
        ),
        // An endpoint of another state, side or contract.
        (
            "Small_Imp_Start next = Small_send_Say(imp, 1); (void)next;",
            "initializing 'Small_Imp_Start'",
        ),
        ("quiet = imp;", "assigning to 'Quiet_Imp_Start'"),
        // A message that is not thought of.
        (
            "switch (Small_recv(Small_send_Say(imp, 1)).tag) { case Small_Imp_Start_Say_got_Said: return 1; case \
             Small_Imp_Start_Say_got_No: return 2; }",
            "'Small_Imp_Start_Say_got_Closed' not handled in switch",
        ),
        // A message that cannot come.
        (
            "return Small_recv(Small_send_Go(imp)).Said.x;",
            "no member named 'Said'",
        ),
        // Arguments that are none.
        ("Small_send_Say(imp);", "too few arguments"),
        (
            "Small_send_Say(imp, \"x\");",
            "incompatible pointer to integer",
        ),
    ] {
        let found = program(body);
        assert!(found.contains(said), "{body}\n{found}");
    }
}

#[test]
fn one_name_for_two_things_in_c_is_refused() {
    let contracts = sing_contract::load(
        "contract C { in message M(); in message N(); state S: M? -> N? -> S_M; state S_M: N? -> closed; }",
    )
    .unwrap();
    let error = c::headers(&contracts).unwrap_err();
    assert!(
        error.contains("C_Imp_S_M") && error.contains("rename"),
        "{error}"
    );
}

#[test]
fn clang_two_types_of_one_name_do_not_compile_together() {
    let one = "rep struct P { int x; } contract A { in message M(P p); state S: M? -> closed; }";
    let other = "rep struct P { int y; } contract B { in message M(P p); state S: M? -> closed; }";
    let folder = Folder::with("twice", one);
    for header in c::headers(&sing_contract::load(other).unwrap()).unwrap() {
        std::fs::write(folder.0.join(header.name), header.text).unwrap();
    }
    let said = folder.compile("#include \"A.h\"\n#include \"B.h\"\n");
    assert!(
        said.contains("two contracts mean different things by P"),
        "{said}"
    );
}
