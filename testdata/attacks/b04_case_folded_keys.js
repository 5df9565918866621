// Keys that fold to the same letters are not merged by the host. Value.
const r = await codemode.echo({ name: 1, Name: 2, NAME: 3, 'na\u017fme': 4 });
return [r.name, r.Name, r.NAME, Object.keys(r).length];
