// Calls left under way: nothing of what the run before planted is here. Value.
let late = 0;
const mine = await Promise.all(Array.from({ length: 10 }, (_, i) => codemode.echo('new' + i)));
await codemode.slow({ ms: 150 });
return [typeof globalThis.late, mine.every((m, i) => m === 'new' + i)];
