// Calls of seven megabytes each until something ends it: time, memory or the number of calls.
const s = 'x'.repeat(7e6);
for (;;) await codemode.echo(s);
