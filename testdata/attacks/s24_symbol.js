// A symbol is thrown: no text can be made of it by accident. Error, ends.
throw Symbol('thrown');
