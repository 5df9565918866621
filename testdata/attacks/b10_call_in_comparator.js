// Tools are called from a comparator, a reviver, a replacer and a species constructor. Value.
const ps = [];
[2, 1].sort(() => { ps.push(codemode.echo(1)); return 0; });
JSON.parse('[1]', (k, v) => { ps.push(codemode.echo(2)); return v; });
JSON.stringify({ a: 1 }, (k, v) => { ps.push(codemode.echo(3)); return v; });
return (await Promise.all(ps)).length === ps.length;
