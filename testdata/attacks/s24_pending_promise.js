// A promise that never settles is thrown. Error, ends.
throw new Promise(() => {});
