// Code from text sees the same world: the same globals, nothing more. Value.
let seen;
try { seen = Function('return [typeof codemode, typeof process, typeof require, typeof std]')(); }
catch (e) { seen = ['object', 'undefined', 'undefined', 'undefined']; }
return seen.slice(1).join();
