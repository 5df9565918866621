// Calls from timers, jobs and reactions at once. Value.
const out = [];
await Promise.all([new Promise(r => setTimeout(() => codemode.echo('t').then(v => { out.push(v); r(); }), 1)), new Promise(r => queueMicrotask(() => codemode.echo('m').then(v => { out.push(v); r(); }))), codemode.echo('p').then(v => codemode.echo(v + 'p')).then(v => out.push(v))]);
return out.sort().join();
