// Whole numbers around 2^53 and 2^63 are those of the program, whatever the tool reads them as. Value.
const xs = [2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, 2 ** 63, -(2 ** 63), 2 ** 64, 1e21, 1e22, 123456789012345680000, 4294967295, -2147483648];
const r = await codemode.echo(xs);
return r.every((x, i) => Number(x) === xs[i]);
