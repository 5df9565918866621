// An error that only says it is out of memory is not. Error.
throw new Error('out of memory');
