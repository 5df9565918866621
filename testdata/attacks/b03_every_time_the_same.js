// The same odd value gives the same answer each time. Value.
const f = async () => { try { return JSON.stringify(await codemode.echo([undefined, NaN, new Map([[1, 2]]), /x/, new Error('x'), Object.create(null)])); } catch (e) { return e.message; } };
const a = await f(), b = await f();
return a === b;
