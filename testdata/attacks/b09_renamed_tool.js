// With the name property of the tool changed. Denied.
const f = codemode.secret;
try { Object.defineProperty(f, 'name', { value: 'echo' }); } catch (e) { }
return await f({});
