// `-->` at the start of a line is a comment in scripts, or refused. Value.
const x = 3;
--> the rest is a comment }); evil(); (() => {
return x;
