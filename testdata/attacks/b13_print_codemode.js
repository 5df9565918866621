// Making text of codemode in every way calls no tool. Value.
const ways = [() => String(codemode), () => `${codemode}`, () => codemode + '', () => JSON.stringify(codemode), () => console.log(codemode), () => Object.prototype.toString.call(codemode), () => [codemode].join(), () => JSON.stringify({ codemode, echo: codemode.echo }), () => console.log(codemode.echo, [codemode]), () => structuredClone(codemode)];
let asked = 0;
for (const w of ways) { try { const v = w(); if (v && typeof v.then === 'function') asked++; } catch (e) { } }
await codemode.echo(0);
return asked;
