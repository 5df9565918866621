// Each answer is held by an async function that never goes on. Memory.
const never = new Promise(() => {}), s = 'x'.repeat(1e6);
for (let i = 0; ; i++) { (async r => { await never; return r; })(await codemode.echo(s + i)); await null; }
