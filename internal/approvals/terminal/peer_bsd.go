//go:build darwin || freebsd

package terminal

import "golang.org/x/sys/unix"

const canTellPeers = true

func uidAt(fd int) (int, error) {
	const local = 0 // SOL_LOCAL
	peer, err := unix.GetsockoptXucred(fd, local, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
