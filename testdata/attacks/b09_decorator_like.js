// Through a wrapper that renames the tool. Denied.
const wrap = f => Object.defineProperty((...a) => f(...a), 'name', { value: 'echo' });
return await wrap(codemode.secret)({});
