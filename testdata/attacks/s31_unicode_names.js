// Names of a hundred thousand letters from far planes, with escapes.
// Refused or done within the limits.
const n = '\ud835\udc9c'.repeat(50000);
return Function('var ' + n + ' = 6; return ' + n)();
