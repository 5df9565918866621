// Package registry holds the tools of the connected servers. It joins the catalogue and the connections: it finds tools
// for the Gate, waits for servers that are starting, and sends the calls that the Gate admits. Its [Directory] shows
// clients what there is.
package registry
