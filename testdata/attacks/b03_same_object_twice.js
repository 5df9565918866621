// The same object in two places is no cycle. Value.
const x = { n: 1 };
return await codemode.echo([x, x, { x }]);
