// Code from text sees the same world: the same globals, nothing more. Value.
const look = 'return [typeof codemode, typeof process, typeof require, typeof std, typeof Deno, typeof fetch].join()';
const outside = [typeof codemode, typeof process, typeof require, typeof std, typeof Deno, typeof fetch].join();
try { return Function(look)() === outside; } catch (e) { return true; }
