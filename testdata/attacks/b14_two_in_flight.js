// Two calls are in flight, and the later one is answered first: each promise has its own answer. Value.
const [a, b] = await Promise.all([codemode.slow({ ms: 40 }), codemode.echo('mine')]);
return [a, b];
