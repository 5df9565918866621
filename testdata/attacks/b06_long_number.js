// Numbers with long decimal texts. Value.
const xs = Array.from({ length: 1000 }, (_, i) => i / 7 * 1e-300);
const r = await codemode.echo(xs);
return r.every((x, i) => x === xs[i]);
