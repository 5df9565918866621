// undefined and holes: null in arrays, left out of objects. Value.
return [undefined, , { a: undefined, b: 1 }];
