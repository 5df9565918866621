// Calls from timers, jobs and reactions at once. Value.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
const out = [];
await Promise.all([new Promise(r => setTimeout(() => codemode.echo('t').then(v => { out.push(v); r(); }), 1)), new Promise(r => later(() => codemode.echo('m').then(v => { out.push(v); r(); }))), codemode.echo('p').then(v => codemode.echo(v + 'p')).then(v => out.push(v))]);
return out.sort().join();
