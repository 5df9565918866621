// The hook of the run before does not run for errors of this one, nor of its calls. Value.
const seen = [];
try { null.x; } catch (e) { seen.push(e.stack); }
try { await codemode.fail(); } catch (e) { seen.push(e.stack); }
try { await codemode.secret(); } catch (e) { seen.push(e.stack); }
return [seen.includes('hooked'), typeof hooked];
