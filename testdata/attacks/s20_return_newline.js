// return followed by a line break returns undefined, as the language says. Value.
return
5;
