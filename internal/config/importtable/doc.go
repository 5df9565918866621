// Package importtable converts another gate's rule table, in which the first match decides, into a profile with the
// same decisions.
package importtable
