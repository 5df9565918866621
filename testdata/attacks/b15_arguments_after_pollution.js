// Keys on Object.prototype do not travel with every argument. Value.
try { Object.prototype.polluted = 'x'; Array.prototype.polluted = 'y'; } catch (e) { }
const r = await codemode.echo({ a: [1] });
return [Object.keys(r).join(), Object.keys(r.a).join(), Object.getOwnPropertyNames(r).includes('polluted')];
