//! The operations of endpoints, state by state: sends, receives, calls; and how channels and
//! endpoints are made.

use super::names::{Names, comment, ident, member};
use super::{Binding, requires, types};
use sing_abi::{MAX_REGISTER_WORDS, names as abi};
use sing_contract::model::{Message, Side, State, Transition};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Everything behind the types.
pub(super) fn operations(binding: &Binding<'_>, names: &mut Names<'_>) -> Result<String, String> {
    let mut out = imports(binding);
    let mut all = Vec::new();
    for side in binding.sides() {
        for index in 0..binding.contract.states.len() {
            all.push(Place {
                binding,
                side,
                index,
            });
        }
    }
    for place in &all {
        if place.state().receives(place.side).next().is_some() {
            out += &place.received(names)?;
        }
    }
    // For each operation the types that have it, for the macro that chooses among them.
    let mut choices: BTreeMap<String, Choice> = BTreeMap::new();
    for place in &all {
        let endpoint = place.endpoint();
        let mut offer = |name: String, arguments: Vec<String>| {
            let choice = choices.entry(name).or_default();
            choice.types.push(endpoint.clone());
            choice.arguments = arguments;
        };
        for t in place.state().sends(place.side) {
            let message = place.message(t);
            let arguments: Vec<String> = message.arguments.iter().map(|a| a.name.clone()).collect();
            out += &place.send(t, names)?;
            offer(format!("send_{}", message.name), arguments.clone());
            if let Some(call) = place.call(t, names)? {
                out += &call;
                offer(format!("call_{}", message.name), arguments);
            }
        }
        if place.state().receives(place.side).next().is_some() {
            out += &place.receive(names)?;
            offer("recv".into(), Vec::new());
        }
        if place.state().is_named() {
            out += &place.made(names)?;
        }
    }
    out += &channel(binding, names)?;
    out += "// The same by the endpoint's type: an operation that its state does not have does not compile.\n";
    for (name, choice) in &choices {
        let full = format!("{}_{name}", binding.contract.name);
        names.take(&full, &format!("operation {name}"))?;
        out += &choice.macro_text(&full, name);
    }
    out.push('\n');
    Ok(out)
}

/// The endpoint types that have an operation.
#[derive(Default)]
struct Choice {
    types: Vec<String>,
    arguments: Vec<String>,
}

impl Choice {
    fn macro_text(&self, full: &str, name: &str) -> String {
        let parameters: String = (0..self.arguments.len())
            .map(|i| format!(", a{i}"))
            .collect();
        let cases: Vec<String> = self
            .types
            .iter()
            .map(|ty| format!("    {ty}: {ty}_{name}"))
            .collect();
        format!(
            "#define {full}(endpoint{parameters}) \\\n  _Generic((endpoint), \\\n{} \\\n  )((endpoint){})\n",
            cases.join(", \\\n"),
            (0..self.arguments.len())
                .map(|i| format!(", (a{i})"))
                .collect::<String>()
        )
    }
}

/// The functions that the module imports.
fn imports(binding: &Binding<'_>) -> String {
    let contract = binding.contract;
    let name = &contract.name;
    let mut out = String::from("// What the kernel checks again.\n");
    let mut import = |field: &str, function: &str, parameters: &str| {
        let _ = writeln!(
            out,
            "SING_IMPORT(\"{}{name}\", \"{field}\")\nint32_t sing_{name}_{function}({parameters});",
            abi::CONTRACT_PREFIX
        );
    };
    if binding.sides().len() == 2 {
        import(abi::NEW_CHANNEL, "new", "sing_handle *");
    }
    for side in binding.sides() {
        let (short, send, call, recv, cast) = match side {
            Side::Imp => (
                "imp",
                abi::IMP_SEND,
                abi::IMP_CALL,
                abi::IMP_RECV,
                abi::IMP_CAST,
            ),
            Side::Exp => (
                "exp",
                abi::EXP_SEND,
                abi::EXP_CALL,
                abi::EXP_RECV,
                abi::EXP_CAST,
            ),
        };
        import(recv, &format!("{short}_recv"), "sing_handle, uint64_t *");
        import(cast, &format!("{short}_cast"), "sing_handle, uint32_t");
        for (index, message) in contract.messages.iter().enumerate() {
            let states = contract.states.iter();
            if !states
                .flat_map(|s| s.sends(side))
                .any(|t| t.message == index)
            {
                continue;
            }
            let count = words(binding, message);
            let registers = |most: usize| {
                if count <= most {
                    ", uint64_t".repeat(count)
                } else {
                    ", const uint64_t *".into()
                }
            };
            let name = &message.name;
            let parameters = format!("sing_handle{}", registers(MAX_REGISTER_WORDS));
            import(
                &format!("{send}{name}"),
                &format!("{short}_send_{name}"),
                &parameters,
            );
            let parameters = format!(
                "sing_handle{}, uint64_t *",
                registers(MAX_REGISTER_WORDS - 1)
            );
            import(
                &format!("{call}{name}"),
                &format!("{short}_call_{name}"),
                &parameters,
            );
        }
    }
    out.push('\n');
    out
}

fn words(binding: &Binding<'_>, message: &Message) -> usize {
    let arguments = message.arguments.iter();
    arguments.map(|a| binding.model.words(&a.ty)).sum()
}

/// Makes a channel.
fn channel(binding: &Binding<'_>, names: &mut Names<'_>) -> Result<String, String> {
    let name = &binding.contract.name;
    let (Some(first), 2) = (binding.contract.states.first(), binding.sides().len()) else {
        return Ok(String::new());
    };
    for made in ["channel", "new_channel"] {
        names.take(&format!("{name}_{made}"), "what makes a channel")?;
    }
    let (imp, exp) = (
        binding.endpoint(Side::Imp, &first.name),
        binding.endpoint(Side::Exp, &first.name),
    );
    Ok(format!(
        "// Both ends of a new channel.\n\
         typedef struct {name}_channel {{ {imp} imp; {exp} exp; }} {name}_channel;\n\
         // Makes a channel: SING_OK, or SING_NO_RESOURCES.\n\
         static inline sing_status {name}_new_channel({name}_channel *out) {{\n  \
         sing_handle ends[2] = {{0, 0}};\n  \
         sing_status status = sing_{name}_new(ends);\n  \
         out->imp.handle = ends[0];\n  out->exp.handle = ends[1];\n  return status;\n}}\n\n"
    ))
}

/// A side in a state.
struct Place<'a> {
    binding: &'a Binding<'a>,
    side: Side,
    index: usize,
}

impl Place<'_> {
    fn state(&self) -> &State {
        &self.binding.contract.states[self.index]
    }

    fn message(&self, t: &Transition) -> &Message {
        &self.binding.contract.messages[t.message]
    }

    /// The side's endpoint in this state.
    fn endpoint(&self) -> String {
        self.binding.endpoint(self.side, &self.state().name)
    }

    fn next(&self, t: &Transition) -> Place<'_> {
        Place {
            index: t.target,
            ..*self
        }
    }

    /// `imp` or `exp`.
    fn short(&self) -> String {
        self.side.name().to_lowercase()
    }

    /// Words of the longest message that can come.
    fn longest(&self) -> usize {
        let all = self.state().receives(self.side).map(|t| self.message(t));
        // An array has at least one element.
        all.map(|m| words(self.binding, m))
            .max()
            .unwrap_or(0)
            .max(1)
    }

    fn parameters(&self, message: &Message) -> String {
        let parameter =
            |a: &sing_contract::model::Field| format!(", {} {}", types::c(&a.ty), ident(&a.name));
        message.arguments.iter().map(parameter).collect()
    }

    /// The beginning of a send and of a call; answers the words' place among the import's
    /// arguments.
    fn prepare(&self, message: &Message, registers: usize) -> (String, String) {
        let mut out = String::new();
        for r in &message.requires {
            let _ = writeln!(
                out,
                "  if (!{}) {{\n    sing_violated(\"{}.{} requires {}\");\n  }}",
                requires::holds(r, ""),
                self.binding.contract.name,
                message.name,
                r.text
            );
        }
        let count = words(self.binding, message);
        if count > 0 {
            let _ = writeln!(out, "  uint64_t sing_words[{count}];");
        }
        if !message.requires.is_empty() {
            out.insert_str(0, "  bool sing_sound;\n");
        }
        let mut at = 0;
        for a in &message.arguments {
            types::pack(
                &a.ty,
                &ident(&a.name),
                self.binding.model,
                &mut at,
                &mut out,
            );
        }
        let passed = if count <= registers {
            (0..count).map(|i| format!(", sing_words[{i}]")).collect()
        } else {
            ", sing_words".into()
        };
        (out, passed)
    }

    fn send(&self, t: &Transition, names: &mut Names<'_>) -> Result<String, String> {
        let message = self.message(t);
        let (endpoint, next) = (self.endpoint(), self.next(t).endpoint());
        let function = format!("{endpoint}_send_{}", message.name);
        names.take(
            &function,
            &format!(
                "the send of {} in state {}",
                message.name,
                self.state().name
            ),
        )?;
        let (prepare, passed) = self.prepare(message, MAX_REGISTER_WORDS);
        let import = format!(
            "sing_{}_{}_send_{}(self.handle{passed})",
            self.binding.contract.name,
            self.short(),
            message.name
        );
        let mut give_up = String::new();
        for a in &message.arguments {
            types::give_up(
                &a.ty,
                &ident(&a.name),
                self.binding.model,
                "    ",
                &mut give_up,
            );
        }
        let body = if give_up.is_empty() {
            format!("  {import};\n")
        } else {
            format!(
                "  if ({import} < 0) {{\n    // The other side has closed: what was to move has stayed.\n{give_up}  }}\n"
            )
        };
        Ok(format!(
            "{}static inline {next} {function}({endpoint} self{}) {{\n{prepare}{body}  \
             return ({next}){{self.handle}};\n}}\n",
            comment("", &message.docs),
            self.parameters(message),
        ))
    }

    /// A send and the receive after it, where the next word is the other side's.
    fn call(&self, t: &Transition, names: &mut Names<'_>) -> Result<Option<String>, String> {
        let next = self.next(t);
        let target = next.state();
        if target.sends(self.side).next().is_some() || target.receives(self.side).next().is_none() {
            return Ok(None);
        }
        let message = self.message(t);
        let endpoint = self.endpoint();
        let received = next.received_type();
        let function = format!("{endpoint}_call_{}", message.name);
        names.take(
            &function,
            &format!(
                "the call of {} in state {}",
                message.name,
                self.state().name
            ),
        )?;
        let (prepare, passed) = self.prepare(message, MAX_REGISTER_WORDS - 1);
        Ok(Some(format!(
            "// Sends {} and waits for what comes next.\n\
             static inline {received} {function}({endpoint} self{}) {{\n{prepare}  \
             uint64_t sing_answer[{}];\n  \
             int32_t sing_message = sing_{}_{}_call_{}(self.handle{passed}, sing_answer);\n  \
             return sing_{received}(sing_message, sing_answer, self.handle);\n}}\n",
            message.name,
            self.parameters(message),
            next.longest(),
            self.binding.contract.name,
            self.short(),
            message.name,
        )))
    }

    fn received_type(&self) -> String {
        format!("{}_received", self.endpoint())
    }

    /// The union of what can come, and the function that makes it of a message.
    fn received(&self, names: &mut Names<'_>) -> Result<String, String> {
        let endpoint = self.endpoint();
        let ty = self.received_type();
        names.take(&ty, &format!("what state {} receives", self.state().name))?;
        names.take(&format!("{endpoint}_got_Closed"), "the end of a channel")?;
        let (mut tags, mut members, mut cases) = (String::new(), String::new(), String::new());
        for t in self.state().receives(self.side) {
            let message = self.message(t);
            let tag = format!("{endpoint}_got_{}", message.name);
            names.take(
                &tag,
                &format!("message {} in state {}", message.name, self.state().name),
            )?;
            let _ = write!(tags, "{tag}, ");
            let member = member(&message.name);
            let mut fields = String::new();
            for a in &message.arguments {
                let _ = write!(fields, " {} {};", types::c(&a.ty), ident(&a.name));
            }
            let _ = writeln!(
                members,
                "    struct {{{fields} {} next; }} {member};",
                self.next(t).endpoint()
            );
            cases += &self.case(t, &tag, &member);
        }
        Ok(format!(
            "// What state {} receives; closed: the channel has ended, and so has the endpoint.\n\
             typedef struct {ty} {{\n  enum {{ {tags}{endpoint}_got_Closed }} tag;\n  union {{\n{members}  }};\n}} {ty};\n\
             static inline {ty} sing_{ty}(int32_t sing_message, const uint64_t *sing_words, sing_handle sing_self) {{\n  \
             {ty} sing_out;\n  (void)sing_words;\n  switch (sing_message) {{\n{cases}  default:\n    break;\n  }}\n  \
             sing_handle_dispose(sing_self);\n  sing_out.tag = {endpoint}_got_Closed;\n  return sing_out;\n}}\n\n",
            self.state().name
        ))
    }

    /// Takes the arguments of a message. Words that are no values of their types, or break what the
    /// contract requires, end the channel; what came with them is given up.
    fn case(&self, t: &Transition, tag: &str, member: &str) -> String {
        let message = self.message(t);
        let model = self.binding.model;
        let (mut take, mut give_up, mut at) = (String::new(), String::new(), 0);
        for a in &message.arguments {
            let to = format!("sing_out.{member}.{}", ident(&a.name));
            types::unpack(&a.ty, &to, &[], model, &mut at, &mut take);
            types::give_up(&a.ty, &to, model, "      ", &mut give_up);
        }
        let prefix = format!("sing_out.{member}.");
        for r in &message.requires {
            let _ = writeln!(
                take,
                "      sing_good = sing_good && {};",
                requires::holds(r, &prefix)
            );
        }
        let sound = if message.requires.is_empty() {
            ""
        } else {
            "      bool sing_sound;\n"
        };
        let taken = format!(
            "sing_out.tag = {tag};\n      sing_out.{member}.next = ({}){{sing_self}};\n      return sing_out;\n",
            self.next(t).endpoint()
        );
        let judged = if take.contains("sing_good") {
            let taken = taken.replace("\n      ", "\n        ");
            format!("      if (sing_good) {{\n        {taken}      }}\n{give_up}      break;\n")
        } else {
            format!("      {taken}")
        };
        let good = if take.contains("sing_good") {
            "      bool sing_good = true;\n"
        } else {
            ""
        };
        format!(
            "    case {}: {{\n{sound}{good}{take}{judged}    }}\n",
            t.message
        )
    }

    fn receive(&self, names: &mut Names<'_>) -> Result<String, String> {
        let (endpoint, received) = (self.endpoint(), self.received_type());
        names.take(
            &format!("{endpoint}_recv"),
            &format!("the receive in state {}", self.state().name),
        )?;
        Ok(format!(
            "// Waits for a message.\n\
             static inline {received} {endpoint}_recv({endpoint} self) {{\n  uint64_t sing_words[{}];\n  \
             int32_t sing_message = sing_{}_{}_recv(self.handle, sing_words);\n  \
             return sing_{received}(sing_message, sing_words, self.handle);\n}}\n",
            self.longest(),
            self.binding.contract.name,
            self.short(),
        ))
    }

    /// The functions that make such an endpoint of one that is known otherwise.
    fn made(&self, names: &mut Names<'_>) -> Result<String, String> {
        let endpoint = self.endpoint();
        for made in ["startup", "cast"] {
            names.take(
                &format!("{endpoint}_{made}"),
                &format!("what makes {endpoint}"),
            )?;
        }
        Ok(format!(
            "// Takes a start-up endpoint, by its place in the manifest, which must declare it so.\n\
             static inline bool {endpoint}_startup(uint32_t index, {endpoint} *out) {{\n  \
             int32_t handle = sing_startup_endpoint(index);\n  \
             out->handle = handle > 0 ? (sing_handle)handle : 0;\n  return handle > 0;\n}}\n\
             // Whether an endpoint can be used as one of these from now on; then the old value is
             // gone.\n\
             static inline bool {endpoint}_cast(sing_handle handle, {endpoint} *out) {{\n  out->handle = handle;\n  \
             return sing_{}_{}_cast(handle, {}) == SING_OK;\n}}\n",
            self.binding.contract.name,
            self.short(),
            self.index,
        ))
    }
}
