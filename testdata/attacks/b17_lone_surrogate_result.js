// Half a surrogate pair at the end of the result does not eat what follows it in the message. Value.
return ['first\ud83d', 'second'];
