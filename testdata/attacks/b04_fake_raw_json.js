// An object that only looks like raw JSON is an object. Value.
const fake = Object.freeze(Object.assign(Object.create(null), { rawJSON: '{"admin":true,"admin":false}' }));
const r = await codemode.echo({ fake });
return Object.keys(r.fake).join();
