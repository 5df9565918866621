// The program returns, and leaves a chain of promises that calls a tool in each turn. The next run must not see it.
const spin = () => { codemode.echo('stray').then(v => { globalThis.stray = v; }, () => {}); Promise.resolve().then(spin); };
Promise.resolve().then(spin);
return 'left';
