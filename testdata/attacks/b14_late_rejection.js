// A failure that arrives after its race was won belongs to no other call. Value.
const race = await Promise.race([codemode.fail().catch(() => 'failed'), codemode.echo('won')]);
const rest = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => codemode.echo(i)));
return [typeof race, rest.every((r, i) => r.value === i)];
