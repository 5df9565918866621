// A setter for __proto__ or a key on Object.prototype is not run by incoming results. Value.
let ran = 0;
Object.defineProperty(Object.prototype, 'incoming', { set() { ran++; }, configurable: true });
const r = await codemode.echo({ incoming: 1 });
delete Object.prototype.incoming;
return [ran, Object.getOwnPropertyDescriptor(r, 'incoming')?.value];
