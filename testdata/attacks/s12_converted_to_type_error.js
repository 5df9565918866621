// The program turns it into another error; what the host saw counts. Memory or error.
try { const a = []; for (;;) a.push({}); } catch (e) { throw new TypeError('nothing to see'); }
