// A symbol inside the result is an error that names the path.
return { a: Symbol('x') };
