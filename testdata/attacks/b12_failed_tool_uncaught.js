// A failing tool that is not caught ends the program with its error.
await codemode.fail();
return 1;
