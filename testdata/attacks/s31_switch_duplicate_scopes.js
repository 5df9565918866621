// A switch of thirty thousand lets of the same name.
// Refused or done within the limits.
return Function('switch (1) {' + 'case 1: let a;'.repeat(3e4) + '}')();
