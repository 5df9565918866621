// Resolving promises with codemode and with tools ends. Value.
const r = await Promise.all([codemode, Promise.resolve(codemode), (async () => codemode)(), new Promise(r => r(codemode))]);
return r.every(c => c === codemode);
