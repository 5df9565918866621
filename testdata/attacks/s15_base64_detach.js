// Base64 and hex decoding into a view whose options change the buffer.
// The engine must stay sound: value.
if (Uint8Array.prototype.setFromBase64) for (const how of [b => b.transfer(0), b => b.resize(1), b => b.resize(0), b => b.resize(64)]) {
  const b = new ArrayBuffer(48, { maxByteLength: 64 }), a = new Uint8Array(b);
  try { a.setFromBase64('QUJD'.repeat(16), { get alphabet() { how(b); return 'base64'; }, get lastChunkHandling() { how(b); return 'loose'; } }); } catch (e) { }
  try { a.toBase64({ get omitPadding() { how(b); return true; } }); } catch (e) { }
  try { a.setFromHex('00'.repeat(48)); } catch (e) { }
}
return 'alive';
