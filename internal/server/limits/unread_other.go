//go:build !unix

package limits

import "net"

func unread(net.Conn) bool { return false }
