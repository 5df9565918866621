// Call sites name no file of the machine. Value.
const bad = /file:|node:|\/(data|etc|home|mnt|nix|opt|private|root|srv|tmp|users|usr|var|work)\/|\.go\b|\.c:\d|0x[0-9a-f]{4,}|wasm|goroutine|runtime\.|\broot\b|\bhome\b|node_modules/i;
try {
  Error.prepareStackTrace = (e, s) => s.map(c => [c.getFileName && c.getFileName(), c.getFunctionName && c.getFunctionName(), String(c)].join());
} catch (e) { return []; } // errors are frozen
let t;
await codemode.echo({ toJSON() { t = new Error().stack; return 1; } });
const u = new Error().stack;
Error.prepareStackTrace = undefined;
return [].concat(t, u).filter(s => bad.test(s));
