// Numbers at the edges come back the same. Value.
const xs = [2 ** 53, -(2 ** 53) - 2, 1.7976931348623157e308, 5e-324, 0.1, 1e21, 123456789012345680000];
const r = await codemode.echo(xs);
return r.every((x, i) => Number(x) === xs[i]);
