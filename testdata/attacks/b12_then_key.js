// A result with a then key is data: nobody calls it. Value.
const r = await codemode.echo({ then: 'x', value: 1 });
return [r.then, r.value];
