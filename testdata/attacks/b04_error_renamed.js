// Errors that were given a name in the usual way are carried: no duplicate key makes the host refuse them. Value.
const e = new Error('m');
e.name = 'Custom';
e.message = 'changed';
const r = await codemode.echo([e, { e }]);
return Array.isArray(r) && r.length === 2;
