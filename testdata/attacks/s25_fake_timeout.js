// An error that says interrupted. It is an error and nothing else.
throw new (typeof InternalError === 'function' ? InternalError : Error)('interrupted');
