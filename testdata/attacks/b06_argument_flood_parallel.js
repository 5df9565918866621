// Thirty-two calls of a megabyte at once: each whole or refused. Value.
const s = 'x'.repeat(1e6);
const r = await Promise.allSettled(Array.from({ length: 32 }, () => codemode.echo(s).then(x => x.length)));
return r.every(x => x.status === 'rejected' || x.value === 1e6);
