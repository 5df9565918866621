// From an async generator. Denied.
async function* g() { yield await codemode.secret({}); }
for await (const x of g()) return x;
