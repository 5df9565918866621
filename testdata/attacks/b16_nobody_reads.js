// Thirty answers of a megabyte that nobody waits for, and a value at the end. Value, or it is ended by a limit.
const s = 'x'.repeat(1e6);
for (let i = 0; i < 30; i++) codemode.echo(s + i).catch(() => {});
await codemode.slow({ ms: 100 });
return 'over';
