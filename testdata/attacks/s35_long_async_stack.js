// A stack through five hundred async functions that wait for one another ends. Value.
const f = async n => { await null; if (n === 0) throw new Error('bottom'); return await f(n - 1); };
try { await f(500); return 'none'; } catch (e) { return [e.message, String(e.stack).length < 1e6]; }
