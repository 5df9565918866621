package servers

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Confinement is what the process of a Stdio server may reach besides the usual, where codemode confines itself.
type Confinement struct {
	Off     bool     // it may reach whatever codemode itself may
	Read    []string // files, and folders with all below; ~ is the home folder
	Write   []string
	Network Network
	Ports   []uint16 // with NetworkPorts
	Unix    bool     // it may open Unix sockets
}

// A Network says what a server may reach over the network. The zero value is the usual.
type Network string

// The networks that an entry can name.
const (
	NetworkOut   Network = ""      // it may connect to every TCP port
	NetworkNone  Network = "none"  // no Internet sockets
	NetworkPorts Network = "ports" // it may connect to some TCP ports
	NetworkAll   Network = "all"   // it may connect, and listen
)

// confinement reads the key "confine"; nil is the usual.
func (e *entry) confinement() *Confinement {
	n := e.get("confine")
	switch n.Kind() {
	case strictjson.Missing, strictjson.Null, strictjson.True:
		return nil
	case strictjson.False:
		return &Confinement{Off: true}
	case strictjson.Object:
	default:
		e.fail("confine", `write {"read": [...], "write": [...], "network": false}, or false`,
			`"confine" must be an object, true or false, this is %s`, n.Kind())
		return nil
	}
	c := &Confinement{}
	e.Object(n, `"confine"`, []settings.Field{
		settings.Key("read", func(n strictjson.Value) { c.Read = e.places(n, `"read"`) }),
		settings.Key("write", func(n strictjson.Value) { c.Write = e.places(n, `"write"`) }),
		settings.Key("network", func(n strictjson.Value) { e.network(n, c) }),
		settings.Key("unix", func(n strictjson.Value) { c.Unix, _ = e.Boolean(n, `"unix"`) }),
	})
	return c
}

// places reads files and folders.
func (e *entry) places(n strictjson.Value, what string) []string {
	var places []string
	for child := range e.Elements(n, what, true) {
		text, ok := e.Text(child, "an entry of "+what)
		if !ok {
			continue
		}
		missing := len(e.Missing)
		place := e.Expand(text)
		if len(e.Missing) == missing && !filepath.IsAbs(place) && place != "~" && !strings.HasPrefix(place, "~/") {
			e.failAt("confine", child, "write it in full, or begin with ~/", "%s has %q, which is not an absolute path",
				what, text)
		}
		places = append(places, place)
	}
	return places
}

// network reads false, "out", true or a list of ports.
func (e *entry) network(n strictjson.Value, c *Confinement) {
	switch n.Kind() {
	case strictjson.False:
		c.Network = NetworkNone
	case strictjson.True:
		c.Network = NetworkAll
	case strictjson.Array:
		c.Network = NetworkPorts
		for child := range e.Elements(n, `"network"`, false) {
			port, err := strconv.ParseUint(child.Source(), 10, 16)
			if child.Kind() != strictjson.Number || err != nil || port == 0 {
				e.failAt("confine", child, "write a number, such as 443", `"network" has a port that is not one of 1 to 65535`)
			}
			c.Ports = append(c.Ports, uint16(port))
		}
	default:
		if n.Kind() != strictjson.String || n.Text() != "out" {
			e.failAt("confine", n, `write false, "out", true, or a list of ports`,
				`"network" must be false, "out", true or a list of ports, this is %s`, n.Kind())
		}
	}
}
