// Out of memory inside a reaction. Memory.
return await Promise.resolve().then(() => { const a = []; for (;;) a.push({}); });
