// Runs modules in V8 for `v8.rs`: a request a line, an answer a line.
//   module HEX    compiles a module: `ok`, or `refused REASON`
//   run NUMBER    a fresh instance of it with that many arguments: `exit CODE`, `trap CODES`, or
//                 `unknown REASON`
import fs from "node:fs";

// V8 tells its traps by their texts. Those of an indirect call do not tell a null element from a
// function of another type.
const TRAPS = [
  ["unreachable", "1"],
  ["memory access out of bounds", "2"],
  ["data segment", "2"],
  ["table index is out of bounds", "3"],
  ["table access out of bounds", "3"],
  ["table index out of bounds", "3"],
  ["element segment", "3"],
  ["null function or function signature mismatch", "4|5"],
  ["null function", "4"],
  ["function signature mismatch", "5|4"],
  ["divide by zero", "6"],
  ["remainder by zero", "6"],
  ["divide result unrepresentable", "7"],
  ["float unrepresentable in integer range", "7|8"],
  ["Maximum call stack size exceeded", "9"],
  ["unaligned", "15"],
  ["dereferencing a null pointer", "4|18"],
  ["rethrowing null value", "18"],
];

function ended(error) {
  if (error instanceof WebAssembly.Exception) return "trap 20";
  const text = String(error?.message ?? error);
  const known = TRAPS.find(([part]) => text.includes(part));
  return known ? `trap ${known[1]}` : `unknown ${text.replaceAll("\n", " ")}`;
}

let module;

function answer(line) {
  const [what, of] = line.split(" ");
  try {
    if (what === "module") {
      module = undefined;
      module = new WebAssembly.Module(Buffer.from(of, "hex"));
      return "ok";
    }
    const imports = { sing_v1: { startup_arg_count: () => Number(of) } };
    const instance = new WebAssembly.Instance(module, imports);
    return `exit ${instance.exports.sip_main()}`;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return `refused ${error.message.replaceAll("\n", " ")}`;
    return ended(error);
  }
}

const chunk = Buffer.alloc(1 << 16);
let pending = "";
for (;;) {
  const count = fs.readSync(0, chunk);
  if (count === 0) break;
  pending += chunk.toString("latin1", 0, count);
  const lines = pending.split("\n");
  pending = lines.pop();
  for (const line of lines) fs.writeSync(1, `${answer(line)}\n`);
}
