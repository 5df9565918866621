// Async functions that await one another ever deeper.
// Memory, or another limit.
const f = async () => { await null; return f(); };
return await f();
