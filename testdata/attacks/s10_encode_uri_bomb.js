// Letters that take nine characters when encoded. Memory.
return encodeURIComponent('\u4e00'.repeat(8e6)).length;
