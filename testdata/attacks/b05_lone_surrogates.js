// Half surrogate pairs in arguments become U+FFFD before anybody decides. Value.
return await codemode.echo(['a\ud800', '\udc00b', '\ud800\ud800', '\udc00\ud800', '\ud83d\ude00']);
