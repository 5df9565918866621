//go:build !linux && !darwin && !freebsd

package terminal

import (
	"io/fs"
	"net"
)

const canTellPeers = false

func SamePeer(net.Conn) error                { return errNoPeers }
func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }
func refused(error) bool                     { return false }
