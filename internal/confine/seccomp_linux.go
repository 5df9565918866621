package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architecture is this processor's name in seccomp; 0 if this package does not know it.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return 0
}

// canFilter reports whether this kernel filters system calls on this processor.
func canFilter() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && architecture() != 0
}

// filterSockets restricts the sockets that this thread, and the program that it executes, can make. Landlock knows
// neither sockets with names in the file system nor UDP, on the kernels of today.
func filterSockets(r *Rules) error {
	filter := socketFilter(r)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// Places in the struct seccomp_data, which a filter reads. An argument's low half is first on all our processors.
const (
	callNumber = 0
	wantedArch = 4
	firstArg   = 16
	argSize    = 8
)

const (
	allow = unix.SECCOMP_RET_ALLOW
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
)

// A program is a filter that is being written.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (p *program) load(at uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }
func (p *program) ret(k uint32)   { p.add(unix.BPF_RET|unix.BPF_K, k, 0, 0) }

// when adds what then writes, for the case that the loaded word is k.
func (p *program) when(k uint32, then func(p *program)) {
	var inner program
	then(&inner)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, uint8(len(inner)))
	*p = append(*p, inner...)
}

// oneOf ends the program with allow if the loaded word is one of these, and with deny otherwise.
func (p *program) oneOf(words ...uint32) {
	for _, w := range words {
		p.when(w, func(p *program) { p.ret(allow) })
	}
	p.ret(deny)
}

func arg(n uint32) uint32 { return firstArg + n*argSize }

// kind loads the kind of a socket from its second argument.
func (p *program) kind() {
	p.load(arg(1))
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf, 0, 0) // without SOCK_CLOEXEC and SOCK_NONBLOCK
}

// socketFilter refuses with EACCES, and allows every other system call:
//
//   - Unix sockets, unless the rules allow them, except pairs. A pair of datagram sockets could still send anywhere.
//   - Internet sockets, unless the rules allow them: then TCP, UDP and ping, but not SCTP or MPTCP, whose ports Landlock
//     does not see.
//   - all other families, such as vsock and raw packets, except those that list network interfaces.
//   - io_uring, which makes sockets without system calls, and the system calls of other architectures.
func socketFilter(r *Rules) []unix.SockFilter {
	var p program
	p.load(wantedArch)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, architecture(), 1, 0)
	p.ret(deny)
	p.load(callNumber)
	if runtime.GOARCH == "amd64" {
		const x32 = 0x4000_0000
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32, 0, 1)
		p.ret(deny)
	}
	p.when(unix.SYS_IO_URING_SETUP, func(p *program) { p.ret(deny) })
	p.when(unix.SYS_SOCKETPAIR, func(p *program) {
		p.kind()
		p.when(unix.SOCK_DGRAM, func(p *program) {
			if r.Unix {
				p.ret(allow)
			}
			p.ret(deny)
		})
		p.ret(allow)
	})
	p.when(unix.SYS_SOCKET, func(p *program) {
		p.load(arg(0))
		p.when(unix.AF_NETLINK, func(p *program) { p.load(arg(2)); p.oneOf(unix.NETLINK_ROUTE) })
		if r.Unix {
			p.when(unix.AF_UNIX, func(p *program) { p.ret(allow) })
		}
		if r.Internet() {
			for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
				p.when(family, func(p *program) {
					p.kind()
					p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_STREAM, 2, 0)
					p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_DGRAM, 1, 0)
					p.ret(deny)
					p.load(arg(2))
					p.oneOf(0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
				})
			}
		}
		p.ret(deny)
	})
	p.ret(allow)
	return p
}
