// A getter in the arguments is read exactly once. Value.
let n = 0;
const r = await codemode.echo({ get x() { return ++n; } });
return [r.x, n];
