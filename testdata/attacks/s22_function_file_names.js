// fileName, lineNumber and toString of built-in and bridge functions name no file of the machine. Value.
const names = ['setTimeout', 'structuredClone', 'TextEncoder', 'URL', 'queueMicrotask', 'fetch', 'crypto'];
const fs = [codemode.echo, globalThis['console']?.log, Array.prototype.map, ...names.map(n => globalThis[n])].filter(f => typeof f === 'function');
return fs.flatMap(f => [f.fileName, f.lineNumber, f.name, Function.prototype.toString.call(f)]).filter(s => /(^|[^<])\/(root|home|work|tmp|usr|build)\/|\.go\b|goroutine/.test(String(s)));
