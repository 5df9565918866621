// A number is thrown. Error, ends.
throw 42;
