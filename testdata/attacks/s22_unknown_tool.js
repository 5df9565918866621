// The error of an unknown tool tells nothing of the machine. Value.
const bad = /file:|node:|\/(data|etc|home|mnt|nix|opt|private|root|srv|tmp|users|usr|var|work)\/|\.go\b|\.c:\d|0x[0-9a-f]{4,}|wasm|goroutine|runtime\.|\broot\b|\bhome\b|node_modules/i;
try { await codemode.nosuchtool({}); return 'no error'; } catch (e) { return [e.stack, e.message, JSON.stringify(e)].filter(s => bad.test(s)); }
