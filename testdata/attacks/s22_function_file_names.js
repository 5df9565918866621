// fileName, lineNumber and toString of built-in and bridge functions name no file of the machine. Value.
const bad = /(^|[^<])\/[a-z]+\/|\.go\b|\.c:\d|0x[0-9a-f]{4,}|wasm|goroutine|runtime\.|\broot\b|\bhome\b|node_modules/i;
const fs = [codemode.echo, console.log, setTimeout, structuredClone, Array.prototype.map, TextEncoder, URL, queueMicrotask];
return fs.flatMap(f => [f.fileName, f.lineNumber, f.name, Function.prototype.toString.call(f)]).filter(s => /(^|[^<])\/(root|home|work|tmp|usr|build)\/|\.go\b|goroutine/.test(String(s)));
