// The class of denials is made the prototype of an own error. It is an error and nothing else.
let real;
try { await codemode.secret(); } catch (e) { real = e; }
throw Object.setPrototypeOf(new Error('mine'), Object.getPrototypeOf(real));
