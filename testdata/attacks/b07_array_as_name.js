// An array as a name is its text. Value.
return await codemode[['echo']]('y');
