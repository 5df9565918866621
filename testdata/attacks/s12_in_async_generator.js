// Out of memory inside an async generator. Memory.
async function* g() { const a = []; for (;;) a.push({}); }
return await g().next();
