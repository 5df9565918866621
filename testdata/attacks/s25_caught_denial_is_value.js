// A denial that is caught does not make the outcome denied. Value.
try { await codemode.secret(); } catch (e) { return 'caught'; }
