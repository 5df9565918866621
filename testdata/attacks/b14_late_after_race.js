// A slow call loses a race; its late answer must not become the answer of a later call. Value.
const first = await Promise.race([codemode.slow({ ms: 60 }), codemode.echo('fast')]);
const later = [];
for (let i = 0; i < 10; i++) { later.push(await codemode.echo(i)); await codemode.slow({ ms: 10 }); }
return [first, later.join()];
