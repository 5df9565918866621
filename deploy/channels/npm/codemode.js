#!/usr/bin/env node
// Starts codemode's binary for this system. npm has installed it as an optional dependency; nothing is downloaded here.
// The variable CODEMODE_BIN names another one (docs/installing.md).
"use strict";

const { spawn } = require("node:child_process");
const { realpathSync } = require("node:fs");
const { constants } = require("node:os");

const name = `@codemode-project/codemode-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "codemode.exe" : "codemode";

const chosen = process.env.CODEMODE_BIN;
let binary;
try {
  // If somebody chose this very file, it would start itself for ever.
  binary = chosen && realpathSync(chosen) !== __filename ? chosen : require.resolve(`${name}/bin/${file}`);
} catch (error) {
  if (chosen) {
    console.error(`codemode: CODEMODE_BIN names ${chosen}, which cannot be started: ${error.message}`);
    process.exit(1);
  }
  console.error(
    `codemode: the package ${name} is not installed. Install codemode again without --omit=optional. If there is no ` +
      "such package, build it: go install github.com/codemode-project/codemode/cmd/codemode@latest",
  );
  process.exit(1);
}

const args = process.argv.slice(2);
if (typeof process.execve === "function" && process.platform !== "win32") {
  process.removeAllListeners("warning"); // execve is experimental, and says so on standard error
  process.on("warning", () => {});
  process.execve(binary, [binary, ...args], process.env); // this process becomes codemode
}

const child = spawn(binary, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`codemode: starting ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
