// undefined is thrown. Error, ends.
throw undefined;
