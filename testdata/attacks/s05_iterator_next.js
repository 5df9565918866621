// next() that never returns, called by a spread. Ends at the time limit.
return [...{ [Symbol.iterator]: () => ({ next() { for (;;); } }) }];
