// A function inside the result is an error that names the path.
return { a: [() => 1] };
