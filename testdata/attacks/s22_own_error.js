// The stack of an own error names the program and nothing of the machine. Value.
const bad = /file:|node:|\/(data|etc|home|mnt|nix|opt|private|root|srv|tmp|users|usr|var|work)\/|\.go\b|\.c:\d|0x[0-9a-f]{4,}|wasm|goroutine|runtime\.|\broot\b|\bhome\b|node_modules/i;
return [new Error('x').stack, (() => { try { null.x; } catch (e) { return e.stack; } })(), (() => { try { eval('}'); } catch (e) { return e.stack + e.message; } })()].filter(s => bad.test(s));
