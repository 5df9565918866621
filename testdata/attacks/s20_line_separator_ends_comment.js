// Code after U+2028 on a comment line is code. Value.
let x = 1; // comment   x = 8;
return x;
