// Intl only explains what to use instead: it must not tell the locale and the time zone of the machine. Value.
try { return String(new Intl.DateTimeFormat().format()); } catch (e) { return 'refused'; }
