// Two thousand doubles of every size come back to the last digit. Value.
let seed = 1;
const rnd = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const xs = Array.from({ length: 2000 }, () => (rnd() - 0.5) * 10 ** Math.floor(rnd() * 600 - 300));
const r = await codemode.echo(xs);
return r.every((x, i) => Number(x) === xs[i]);
