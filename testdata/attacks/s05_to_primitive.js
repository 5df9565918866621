// Symbol.toPrimitive that never returns, called by a comparison. Ends at the time limit.
return { [Symbol.toPrimitive]() { for (;;); } } < 1;
