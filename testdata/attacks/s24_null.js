// null is thrown. Error, ends.
throw null;
