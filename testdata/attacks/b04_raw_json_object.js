// JSON.rawJSON cannot smuggle an object, an array or a second key. Value.
if (!JSON.rawJSON) return 0;
let n = 0;
for (const t of ['{"a":1}', '[1]', '1,"b":2', '1}', ' 1', '1 ', '', '"a":1', '1\n', '{"a":1,"a":2}']) { try { JSON.rawJSON(t); n++; } catch (e) { } }
return n;
