// Runs a CloudFront function as CloudFront would: ES 5.1, no module, no network, no timer, no eval.
// Lines of JSON come in, the code first (a string), then events; one line of JSON answers each
// event with what the handler returned, or with {"error": …}.
'use strict';

const readline = require('node:readline');
const vm = require('node:vm');
// The parser that Node itself carries; reached with --expose-internals.
const { parse } = require('internal/deps/acorn/acorn/dist/acorn');

let handler;

function load(code) {
  parse(code, { ecmaVersion: 5 });
  // A fresh context has the language's own globals and none of Node's.
  const context = vm.createContext(Object.create(null), {
    codeGeneration: { strings: false, wasm: false },
  });
  vm.runInContext(code, context);
  handler = vm.runInContext('(function (event) { return JSON.stringify(handler(JSON.parse(event))); })', context);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  if (!handler) {
    load(JSON.parse(line));
    return;
  }
  let answer;
  try {
    answer = handler(line);
  } catch (error) {
    answer = JSON.stringify({ error: String(error) });
  }
  process.stdout.write(answer + '\n');
});
