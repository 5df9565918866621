// A strict directive in a nested function stays there. Value.
(function () { 'use strict'; })();
return (function () { return typeof this; })();
