// An error without a prototype. Error, ends.
throw Object.setPrototypeOf(new Error('x'), null);
