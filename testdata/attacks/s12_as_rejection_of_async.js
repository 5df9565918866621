// Out of memory inside an async function is a rejection of its promise. Memory.
return await (async () => { const a = []; for (;;) a.push({}); })();
