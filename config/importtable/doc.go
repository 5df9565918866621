// Package importtable turns a table of rules of another gate, in which the first match decides, into a profile that
// decides the same.
package importtable
