// join of one long string with itself. Memory.
return new Array(1e6).join('x'.repeat(1000)).length;
