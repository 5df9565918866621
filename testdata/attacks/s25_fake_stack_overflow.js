// An error that says stack overflow. It is an error and nothing else.
throw new RangeError('Maximum call stack size exceeded');
