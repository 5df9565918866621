// return() that never returns, called when a loop breaks. Ends at the time limit.
for (const x of { [Symbol.iterator]: () => ({ next: () => ({ done: false }), return() { for (;;); } }) }) break;
return 1;
