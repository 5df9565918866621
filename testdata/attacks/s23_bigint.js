// A BigInt in the result is an error that names the path.
return { a: [1, 2n] };
