// codemode and tools as arguments are refused; nothing is called on their behalf. Value.
let n = 0;
for (const x of [codemode.echo, { f: codemode.echo }, [codemode.secret]]) { try { await codemode.echo(x); n++; } catch (e) { if (e.name === 'ToolCallDeniedError') return 'called'; } }
return n;
