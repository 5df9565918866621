// Object.prototype has its own accessors again, and records nothing of this run. Value.
const r = await codemode.echo({ value: 'private', args: ['private'] });
return [r.value, r.args[0], ['then', '0', 'value', 'args'].filter(k => k in Object.prototype).length, Object.getPrototypeOf({}.__proto__), typeof seen];
