// undefined and holes: null in arrays, left out of objects. Value.
const r = await codemode.echo({ a: [undefined, , 1], b: undefined, c: 2 });
return [r.a, Object.keys(r).join()];
