// toJSON of the result is called once, and what it gives is not asked again. Value.
let n = 0;
return { toJSON() { n++; return { n }; } };
