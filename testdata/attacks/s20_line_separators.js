// U+2028 and U+2029 end a comment line, as the language says. Value.
return 7; //   // still inside   // and here
