// A runaway that keeps the compiler of the engine busy. Ends; others keep running.
const s = 'x = ' + '(a => a + 1)(1) + '.repeat(500) + '1';
var x;
for (;;) eval(s);
