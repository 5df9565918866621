// undefined at the top is null. Value.
return undefined;
