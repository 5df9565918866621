// The raw import and exports are not among the globals, under any likely name. Value.
const names = ['codemode_call', 'codemode_poll', '__codemode_call', '__codemode', '_codemode', 'hostCall', '__host', '__bridge', '__call', '__poll', 'env', 'wasi', 'wasi_snapshot_preview1', '__wasi', 'memory', 'wasm', 'exports', 'Module', '__settle', '__resolve', '__deliver', 'scriptArgs', 'print', 'gc'];
return names.filter(n => n in globalThis || typeof eval('typeof ' + n + " === 'undefined' ? undefined : " + n) !== 'undefined');
