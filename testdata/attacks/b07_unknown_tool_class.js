// The error of an unknown tool has the class that the documentation names. Value.
try { await codemode.nosuchtool({}); return 'called'; } catch (e) { return e.name; }
