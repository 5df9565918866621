// A function is thrown. Error, ends.
throw function f() { throw f; };
