package confine

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enter gives up rights and executes a program.
func enter(r Rules, parent int, program string, argv, environ []string) error {
	if missing := Missing(); len(missing) > 0 && !r.BestEffort {
		return errors.New(strings.Join(missing, "; "))
	}
	runtime.LockOSThread() // for good: the thread loses rights
	if parent != 0 {
		// The kernel keeps this setting for each thread, and the one that executes need not be the one that was started.
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return fmt.Errorf("tying its life to codemode's: %w", err)
		}
		if os.Getppid() != parent {
			return errors.New("codemode has ended meanwhile")
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := dropCapabilities(r.LowPorts); err != nil {
		return err
	}
	if abi() > 0 {
		if err := landlock(&r, program); err != nil {
			return err
		}
	}
	if canFilter() {
		if err := filterSockets(&r); err != nil {
			return fmt.Errorf("filtering its system calls: %w", err)
		}
	}
	return syscall.Exec(program, argv, environ)
}

// dropCapabilities leaves the executed program none of root's capabilities, or one: to listen at ports below 1024. They
// are ways around the rules: with CAP_PERFMON, say, a process reads the environment of all others.
func dropCapabilities(lowPorts bool) error {
	keep := func(capability uintptr) bool { return lowPorts && capability == unix.CAP_NET_BIND_SERVICE }
	for c := uintptr(0); c <= 63; c++ { // the kernel has 41, and may get more
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil || has == 0 || keep(c) {
			continue
		}
		_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_LOWER, c, 0, 0) // it fails only where there are none
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		// A user who is not root may not do that, and gets no capabilities of a program without new privileges.
		if err != nil && os.Geteuid() == 0 {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	return nil
}

// Possible reports whether this kernel can confine a process at all.
func Possible() bool { return abi() > 0 }

// Missing lists the parts of the rules that this kernel cannot enforce, as sentences.
func Missing() []string {
	version := abi()
	if version == 0 {
		return []string{"this kernel has no Landlock, or it is switched off (see lsm= of the kernel command line)"}
	}
	var missing []string
	for _, part := range []struct {
		since int
		what  string
	}{
		{3, "files: this kernel's Landlock does not restrict truncating files, or moving them between folders"},
		{4, "ports: this kernel's Landlock does not restrict TCP ports"},
		{5, "devices: this kernel's Landlock does not restrict ioctl on devices"},
		{6, "signals: this kernel's Landlock restricts neither signals nor abstract Unix sockets"},
	} {
		if version < part.since {
			missing = append(missing, part.what)
		}
	}
	if !canFilter() {
		missing = append(missing, "sockets: seccomp filters for this kernel or processor are missing")
	}
	return missing
}

// abi is the version of Landlock's interface; 0 is none.
func abi() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// Rights to files. Landlock's words for them end with the version that restricts them.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	writeRights = readRights | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	allRights = writeRights | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// fileRights are those that a rule about a file, not a folder, may have.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// knownRights are the rights that a version of Landlock restricts.
func knownRights(version int) uint64 {
	known := uint64(allRights)
	for _, newer := range []struct {
		since int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if version < newer.since {
			known &^= newer.right
		}
	}
	return known
}

// portAttr is the kernel's struct of a rule about a TCP port, see landlock(7).
type portAttr struct{ allowed, port uint64 }

// landlock restricts this thread.
func landlock(r *Rules, program string) error {
	version := abi()
	attr := unix.LandlockRulesetAttr{Handled_access_fs: knownRights(version)}
	if version >= 4 {
		if !r.Listen.Any {
			attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_TCP
		}
		if !r.Connect.Any {
			attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("making Landlock's rules: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{r.Read, readRights}, {r.Write, writeRights}} {
		for _, path := range list.paths {
			if err := allowFiles(fd, path, list.rights&attr.Handled_access_fs, attr.Handled_access_fs); err != nil {
				return fmt.Errorf("allowing %s: %w", path, err)
			}
		}
	}
	if program == self { // whatever an upgrade put in its place
		if err := allowSelf(fd); err != nil {
			return fmt.Errorf("allowing this program: %w", err)
		}
	}
	if err := allowPorts(fd, r, attr.Handled_access_net); err != nil {
		return err
	}
	flags := uintptr(0)
	if version >= 7 { // the kernel's audit log has what the executed program was refused
		flags = unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, flags, 0); errno != 0 {
		return fmt.Errorf("entering Landlock's rules: %w", errno)
	}
	return nil
}

// self is the binary of this process.
const self = "/proc/self/exe"

func allowSelf(ruleset uintptr) error {
	fd, err := unix.Open(self, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := addFile(ruleset, fd, readRights&fileRights); err != nil || !linked() {
		return err
	}
	for _, path := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"} {
		if path, err := filepath.EvalSymlinks(path); err == nil {
			if err := allowFiles(ruleset, path, readRights, allRights); err != nil {
				return err
			}
		}
	}
	return nil
}

// linked reports whether this binary needs libraries of the system.
func linked() bool {
	f, err := elf.Open(self)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// allowFiles adds a rule about a file, or about a folder with all below.
func allowFiles(ruleset uintptr, path string, rights, known uint64) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES):
		return nil // there is nothing to allow
	case errors.Is(err, unix.ELOOP):
		return errors.New("a symbolic link is on the way")
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFCHR:
		rights = (rights | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV) & fileRights & known
	default:
		rights &= fileRights
	}
	return addFile(ruleset, fd, rights)
}

func addFile(ruleset uintptr, fd int, rights uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allowPorts adds the rules about ports that are restricted.
func allowPorts(ruleset uintptr, r *Rules, restricted uint64) error {
	const rulePort = 2 // LANDLOCK_RULE_NET_PORT
	for _, list := range []struct {
		ports []uint16
		right uint64
	}{
		{r.Listen.Only, unix.LANDLOCK_ACCESS_NET_BIND_TCP}, {r.Connect.Only, unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
	} {
		if list.right&restricted == 0 {
			continue
		}
		for _, port := range list.ports {
			rule := portAttr{list.right, uint64(port)}
			_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, rulePort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
			if errno != 0 {
				return fmt.Errorf("allowing port %d: %w", port, errno)
			}
		}
	}
	return nil
}
