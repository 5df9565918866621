// Text that would end a script element is text. Value.
return '</script><!--'.length;
