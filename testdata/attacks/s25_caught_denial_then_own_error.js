// A real denial is caught; the error that ends the program is another one. It is an error and nothing else.
try { await codemode.secret(); } catch (e) { }
throw new Error('mine');
