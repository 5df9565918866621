package confined

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programs are the folders of the system's programs and libraries, and of what they ask the kernel. Every confined
// process may read and execute what is there.
var programs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap",
	"/home/linuxbrew/.linuxbrew", "/proc", "/sys",
	// the names of machines
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf",
}

// settings are the files of /etc that programs read and that hold no secrets. codemode's own managed configuration is
// in /etc, and so are keys and passwords.
var settings = []string{
	"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts",
	"gai.conf", "gitconfig", "group", "host.conf", "hostname", "hosts", "inputrc", "java-17-openjdk", "java-21-openjdk",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "lsb-release", "magic",
	"mime.types", "nanorc", "networks", "nsswitch.conf", "os-release", "passwd", "pki", "profile", "profile.d",
	"protocols", "python3", "resolv.conf", "services", "shells", "ssl", "terminfo", "timezone",
}

// devices are those that any program may use.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// toolchains are what servers are started with, below the home folder, and the settings of git, without which git ends.
var toolchains = []string{
	".asdf", ".bun", ".cargo/bin", ".deno/bin", ".local/bin", ".local/lib", ".local/share/fnm", ".local/share/mise",
	".local/share/pnpm", ".local/share/uv", ".nvm", ".pyenv", ".rbenv", ".rustup/toolchains", ".volta", "go/bin",
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
}

// tooBroad reports whether a folder holds so much that no server gets it only because a word of its entry names it: the
// home folder, the folders of the system, and what is above them.
func tooBroad(dir string) bool {
	for _, shared := range []string{"/tmp", "/var/tmp", "/dev/shm", "/usr", "/etc", "/var", "/run", "/proc", "/sys",
		"/dev", "/opt", "/srv", "/home", "/mnt", "/media", os.TempDir(), home()} {
		if shared != "" && within(dir, real(shared)) {
			return true
		}
	}
	return dir == "/"
}

// hidden reports whether a path is a hidden file or folder of the home folder, or lies in one, such as ~/.ssh: no
// server gets it only because a word of its entry names it.
func hidden(path string) bool {
	dir := home()
	return dir != "" && within(real(dir), path) && strings.HasPrefix(strings.TrimPrefix(path, real(dir)), "/.")
}

// home is the home folder; "" if there is none.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// within reports whether path is the folder dir or lies in it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// real resolves the symbolic links of a path; a path that does not exist stays as it is.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// resolved resolves the paths that exist, and leaves out the others.
func resolved(paths []string) []string {
	var all []string
	for _, path := range paths {
		if path, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// without leaves out the paths that lie in one of the folders, or in another path.
func without(paths, folders []string) []string {
	var left []string
	for _, path := range paths { // sorted: a folder comes before what is in it
		inside := func(dir string) bool { return within(dir, path) }
		if !slices.ContainsFunc(folders, inside) && !slices.ContainsFunc(left, inside) {
			left = append(left, path)
		}
	}
	return left
}

// under returns names below a folder.
func under(dir string, names []string) []string {
	if dir == "" {
		return nil
	}
	var all []string
	for _, name := range names {
		all = append(all, filepath.Join(dir, name))
	}
	return all
}
