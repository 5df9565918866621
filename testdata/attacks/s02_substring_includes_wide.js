// includes on 16-bit text with a nearly matching needle. The outer stop ends it.
const a = '\u4e00'.repeat(3e6);
return a.includes('\u4e00'.repeat(15e5) + '\u4e01');
