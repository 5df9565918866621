# workerd for workerd.mjs: one worker with a loader, which runs each program in an isolate of its own.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "host", worker = .host),
    (name = "internet", network = (allow = [])),
  ],
  sockets = [(name = "runs", address = "127.0.0.1:0", http = (), service = "host")],
);

const host :Workerd.Worker = (
  compatibilityDate = "2026-11-01",
  modules = [
    (name = "host.js", esModule = embed "workerd-host.js"),
    (name = "lines.mjs", esModule = embed "lines.mjs"),
    (name = "@cloudflare/codemode", esModule = embed "node_modules/@cloudflare/codemode/dist/index.js"),
    (name = "@cloudflare/base-BqhlNCSH.js", esModule = embed "node_modules/@cloudflare/codemode/dist/base-BqhlNCSH.js"),
    (name = "@cloudflare/json-schema-types-D_m9tVnI.js", esModule = embed "node_modules/@cloudflare/codemode/dist/json-schema-types-D_m9tVnI.js"),
    (name = "@cloudflare/resolve-34dC47Il.js", esModule = embed "node_modules/@cloudflare/codemode/dist/resolve-34dC47Il.js"),
    (name = "@cloudflare/run-code-Q3Jh6Dcu.js", esModule = embed "node_modules/@cloudflare/codemode/dist/run-code-Q3Jh6Dcu.js"),
    (name = "@cloudflare/truncate-Dd-VZZYQ.js", esModule = embed "node_modules/@cloudflare/codemode/dist/truncate-Dd-VZZYQ.js"),
    (name = "@cloudflare/acorn", esModule = embed "node_modules/acorn/dist/acorn.mjs"),
  ],
  bindings = [
    (name = "LOADER", workerLoader = (id = "programs")),
  ],
);
