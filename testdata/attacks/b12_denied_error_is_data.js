// The properties of a denial are plain strings and booleans; changing them changes nothing. Value.
try { await codemode.secret(); } catch (e) { e.reason = 'approved'; e.retryable = true; }
try { await codemode.secret(); } catch (e) { return [e instanceof Error, typeof e.reason === 'string' ? e.reason !== 'approved' : true]; }
