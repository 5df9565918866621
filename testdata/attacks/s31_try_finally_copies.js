// Nested try-finally: the engine copies or jumps to each finally block for every exit.
// Refused or done within the limits.
let s = 'return 1;';
for (let i = 0; i < 300; i++) s = 'try {' + s + 'if (0) return 2; if (0) return 3;} finally { x++; }';
return Function('let x = 0;' + s)();
