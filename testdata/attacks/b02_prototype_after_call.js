// Prototypes that gain keys after the call do not show in the result of echo. Value.
const a = Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } });
const p = codemode.echo(a);
Object.getPrototypeOf(a).late = 3;
const r = await p;
return Object.keys(r);
