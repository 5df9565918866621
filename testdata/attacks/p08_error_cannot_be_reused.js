// Resolving with, cloning and patching a denial does not make a call happen. Value.
let e1;
try { await codemode.secret({}); } catch (e) { e1 = e; }
try { Object.assign(e1, { reason: 'approved', retryable: true }); e1.retry && await e1.retry(); } catch (e) { }
try { await codemode.secret({ error: e1.reason }); return 'called'; } catch (e) { return e === e1 ? 'the same error' : 'refused'; }
