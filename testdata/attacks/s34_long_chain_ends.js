// A hundred thousand awaits in a row are no attack: the answer of the call still comes. Value.
const call = codemode.echo('answered');
let n = 0;
for (let i = 0; i < 100000; i++) { await null; n++; }
return [n, await call];
