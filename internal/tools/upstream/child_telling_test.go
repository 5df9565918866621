package upstream

import "testing"

// Of what a program wrote before it died, the line that says why is shown.
func TestTheLineThatTells(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, stderr, want string }{
		{"nothing", "\n \n", ""},
		{"one line", "cannot find the license file\n", "cannot find the license file"},
		{"Node.js, a module", `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module 'express'
Require stack:
- /srv/server.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/srv/server.js' ]
}

Node.js v20.20.2
`, "Error: Cannot find module 'express'"},
		{"Node.js, a package", `node:internal/errors:496
    ErrorCaptureStackTrace(err);
    ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/index.mjs
    at packageResolve (node:internal/modules/esm/resolve:853:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2`, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/index.mjs"},
		{"Node.js, a syntax error", "/srv/a.js:1\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at x\n\nNode.js v20.20.2\n",
			"SyntaxError: Unexpected token ';'"},
		{"Node.js, a thrown text", "/srv/a.js:1\nthrow \"no API key\"\n^\nno API key\n" +
			"(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v20.20.2\n", "no API key"},
		{"Node.js, a rejection", "[UnhandledPromiseRejection: This error originated either by throwing] {\n  code: 'ERR'\n}\n\nNode.js v22.1.0\n",
			"[UnhandledPromiseRejection: This error originated either by throwing] {"},
		{"Node.js, a port", "Error: listen EADDRINUSE: address already in use :::3000\n    at Server.setupListenHandle {\n  code: 'EADDRINUSE',\n  errno: -98\n}\n",
			"Error: listen EADDRINUSE: address already in use :::3000"},
		{"Node.js with a cause", "TypeError: fetch failed\n    at node:internal {\n  [cause]: Error: getaddrinfo ENOTFOUND api\n      at x {\n    code: 'ENOTFOUND'\n  }\n}\n\nNode.js v20.1.0",
			"TypeError: fetch failed"},
		{"Deno", "error: Uncaught (in promise) TypeError: x is not a function\n    at file:///a.ts:1:1\n",
			"error: Uncaught (in promise) TypeError: x is not a function"},
		{"Bun", "1 | throw\n          ^\nerror: API_KEY is missing\n      at /srv/a.ts:1:7\n\nBun v1.1.0 (Linux x64)\n", "error: API_KEY is missing"},
		{"Python", "Traceback (most recent call last):\n  File \"/srv/a.py\", line 1, in <module>\n    import mcp\n" +
			"ModuleNotFoundError: No module named 'mcp'\n", "ModuleNotFoundError: No module named 'mcp'"},
		{"Python, with what was being handled", "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'TOKEN'\n\n" +
			"During handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File \"a.py\", line 3\n    f()\nconfig.MissingToken: set TOKEN\n", "config.MissingToken: set TOKEN"},
		{"Python, with words after it", "Traceback (most recent call last):\n  File \"a.py\", line 1\nRuntimeError: no\nbye\n", "RuntimeError: no"},
		{"Go, a panic", "panic: open config.yaml: no such file or directory\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:9 +0x1d\nexit status 2\n",
			"panic: open config.yaml: no such file or directory"},
		{"Go, a nil pointer", "panic: runtime error: invalid memory address or nil pointer dereference\n" +
			"[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"Go, log.Fatal", "2026/11/28 10:00:00 starting\n2026/11/28 10:00:01 listen tcp :80: bind: permission denied\n",
			"2026/11/28 10:00:01 listen tcp :80: bind: permission denied"},
		{"Rust", "thread 'main' panicked at src/main.rs:4:5:\nTOKEN is not set\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			"thread 'main' panicked at src/main.rs:4:5: TOKEN is not set"},
		{"Java", "Exception in thread \"main\" java.lang.IllegalStateException: no config\n\tat a.Main.main(Main.java:3)\n" +
			"Caused by: java.io.FileNotFoundException: a.yml\n\tat b\n\t... 12 more\n", "Caused by: java.io.FileNotFoundException: a.yml"},
		{".NET", "Unhandled exception. System.InvalidOperationException: no key\n   at Program.Main()\n",
			"Unhandled exception. System.InvalidOperationException: no key"},
		{"Ruby", "a.rb:3:in 'Object#f': no token (RuntimeError)\n\tfrom a.rb:5:in '<main>'\n", "a.rb:3:in 'Object#f': no token (RuntimeError)"},
		{"a shell", "starting\nsh: 1: uvx: not found\n", "sh: 1: uvx: not found"},
		{"bash", "bash: line 1: foo: command not found\n", "bash: line 1: foo: command not found"},
		{"npm 9", "npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://example.com/nope\nnpm ERR! A complete log of this run can be found in:\n" +
			"npm ERR!     /root/.npm/_logs/x.log\n", "npm ERR! 404 Not Found - GET https://example.com/nope"},
		{"npm 10", "npm error code ENOENT\nnpm error enoent no such file or directory, open 'package.json'\nnpm error A complete log of this run can be found in: /x.log\n",
			"npm error enoent no such file or directory, open 'package.json'"},
		{"uv", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because nope was not found in the package registry, it cannot be used.\n",
			"╰─▶ Because nope was not found in the package registry, it cannot be used."},
		{"Docker", "docker: Error response from daemon: pull access denied for nope.\nSee 'docker run --help'.\n",
			"docker: Error response from daemon: pull access denied for nope."},
		{"usage below", "Error: Usage: server DIR\n  --port N   the port\n  --help\nRun server --help for more.\n", "Error: Usage: server DIR"},
		{"a log line", "[2026-11-28] ERROR: DATABASE_URL is required\nshutting down\n", "[2026-11-28] ERROR: DATABASE_URL is required"},
		{"colors", "\x1b[31mError:\x1b[0m no token\n\x1b[2mdone\x1b[0m\n", "Error: no token"},
		{"no error", "loading\nready in 3 s\n", "ready in 3 s"},
	} {
		if got, _ := telling(row.stderr); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
