// Out of memory inside a promise executor is a rejection. Memory.
return await new Promise(() => { const a = []; for (;;) a.push({}); });
