//go:build !unix

package server

import "net"

func arrived(net.Conn) bool { return false }
