// Sixty levels come back as they went. Value.
let o = 'core';
for (let i = 0; i < 60; i++) o = i % 2 ? [o] : { o };
return JSON.stringify(await codemode.echo(o)) === JSON.stringify(o);
