// An error that says out of memory. It is an error and nothing else.
throw new (typeof InternalError === 'function' ? InternalError : Error)('out of memory');
