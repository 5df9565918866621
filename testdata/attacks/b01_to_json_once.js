// toJSON of an argument is asked once. Value.
let n = 0;
const r = await codemode.echo({ x: { toJSON() { return ++n; } } });
return [r.x, n];
