// Nine hundred calls at once: sixteen under way, the rest waits. Value.
const r = await Promise.all(Array.from({ length: 900 }, (_, i) => codemode.echo(i + 1)));
return r.every((x, i) => x === i + 1);
