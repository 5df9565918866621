// A stack without a limit of frames, at a depth of thousands, many times: bounded in time and memory. Value.
try { Error.stackTraceLimit = Infinity; } catch (e) { }
let n = 0;
const deep = d => { if (d) return deep(d - 1); for (let i = 0; i < 20; i++) n += typeof new Error('x').stack === 'string' ? 1 : 0; };
for (let d = 0; d < 2000; d += 200) { try { deep(d); } catch (e) { n += 20; } }
return n > 0;
