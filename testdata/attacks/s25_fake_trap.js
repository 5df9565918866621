// An error that says a wasm trap. It is an error and nothing else.
throw new Error('wasm error: unreachable\nwasm stack trace:\n\t.codemode_run()');
