// Every console method with every kind of argument, three thousand times. Value.
const ms = ['log', 'info', 'warn', 'error', 'debug'].filter(m => typeof console[m] === 'function');
for (let i = 0; i < 3000; i++) console[ms[i % ms.length]]({ i }, [i], i, 'x', null);
return ms.length;
