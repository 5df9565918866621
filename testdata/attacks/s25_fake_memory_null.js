// null, as the engine throws when it has no memory for an error. It is an error and nothing else.
throw null;
