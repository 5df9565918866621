// Two draws of randomness differ and lie in range. Value.
const a = Math.random(), b = Math.random();
return a !== b && a >= 0 && a < 1 && b >= 0 && b < 1;
