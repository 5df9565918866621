// A cyclic result is an error that names the path.
const o = { a: {} };
o.a.b = o;
return o;
