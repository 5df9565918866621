// A __proto__ key in the result is data. Value.
return JSON.parse('{"__proto__":{"x":1},"constructor":1,"toString":2}');
