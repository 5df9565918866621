//go:build !unix

package server

import "net"

func unread(net.Conn) bool { return false }
