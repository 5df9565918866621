// Package confine runs programs with fewer rights than this process has: [Rules] say which files, TCP ports and sockets
// they reach. On Linux it uses Landlock for files, ports, signals and abstract sockets, seccomp for the kinds of
// sockets, and no_new_privs. It also drops root's
// capabilities.
//
// A process that starts another one with fewer rights starts itself, with the command of [Rules.Command]. The new
// process calls [Main] first, which gives up the rights and then executes the program, so the program never runs with
// more. A process that confines itself calls [Exec].
//
// Both restrict one thread and execute from it. Restricting all threads of a running process instead would give each
// thread its own Landlock domain on kernels before 7.0, and then a child that one thread started is out of reach for
// signals and /proc from another.
package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Rules are what a confined process, and all that it starts, may reach. The zero value allows nothing.
//
// No rule restricts what a process asks about a file without opening it (stat, access), nor memory, time, processes or
// UDP beyond what [Rules.Connect] says.
type Rules struct {
	// Read has files to read and execute, and folders with all files below. A missing one is skipped. A path must not
	// go through a symbolic link: nobody may turn one of the rules into another after somebody checked it.
	Read []string `json:"read,omitempty"`
	// Write is like Read, and allows to change, create, move and remove too.
	Write []string `json:"write,omitempty"`

	// Connect and Listen are the TCP ports of other machines, and of this one. If both are zero there are no Internet
	// sockets at all; otherwise UDP is possible, for names.
	Connect Ports `json:"connect,omitzero"`
	Listen  Ports `json:"listen,omitzero"`
	// Unix allows Unix sockets. Whoever may open them reaches every socket that the user can.
	Unix bool `json:"unix,omitempty"`

	// LowPorts keeps root's capability to listen at ports below 1024. It gives up all others.
	LowPorts bool `json:"lowPorts,omitempty"`

	// BestEffort goes on with the rules that the kernel knows. Otherwise it must know all of them.
	BestEffort bool `json:"bestEffort,omitempty"`
}

// Ports are TCP ports. The zero value is none.
type Ports struct {
	Any  bool     `json:"any,omitempty"`
	Only []uint16 `json:"only,omitempty"`
}

func (p Ports) none() bool { return !p.Any && len(p.Only) == 0 }

// Internet reports whether the rules allow Internet sockets.
func (r *Rules) Internet() bool { return !r.Connect.none() || !r.Listen.none() }

// And returns rules that allow what r or other allows.
func (r Rules) And(other Rules) Rules {
	union := func(a, b []string) []string {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return slices.Compact(all)
	}
	ports := func(a, b Ports) Ports {
		if a.Any || b.Any {
			return Ports{Any: true}
		}
		all := slices.Concat(a.Only, b.Only)
		slices.Sort(all)
		return Ports{Only: slices.Compact(all)}
	}
	return Rules{
		Read: union(r.Read, other.Read), Write: union(r.Write, other.Write),
		Connect: ports(r.Connect, other.Connect), Listen: ports(r.Listen, other.Listen),
		Unix: r.Unix || other.Unix, LowPorts: r.LowPorts || other.LowPorts, BestEffort: r.BestEffort || other.BestEffort,
	}
}

// helper is the argument that makes this binary the one that gives up rights and executes a program.
const helper = "confined"

// An order is what the helper gets.
type order struct {
	Rules Rules `json:"rules"`
	// Parent is the process that must not outlive: when it ends, the kernel kills the program. 0 is none.
	Parent int `json:"parent,omitempty"`
}

// Command returns the command that starts program with these rules; self is this binary. If parent is not 0, the
// program ends with that process.
func (r Rules) Command(self, program string, args []string, parent int) []string {
	text, err := json.Marshal(order{r, parent})
	if err != nil {
		panic("confine: " + err.Error()) // the types have no values that JSON lacks
	}
	return append([]string{self, helper, string(text), program}, args...)
}

// failed is the exit code of a helper that did not execute its program; shells use it for the same.
const failed = 126

// Main does the helper's work if args, those of the process, say so: it executes a program, or returns an exit code. ok
// is false for other processes. Call it first in main.
func Main(args, environ []string, problems io.Writer) (code int, ok bool) {
	if len(args) == 5 && args[1] == probing {
		out, err := probe(args[2], args[3], args[4])
		if err != nil {
			fmt.Fprintln(os.Stderr, "codemode:", err)
			return failed, true
		}
		_, _ = os.Stdout.Write(out) // Try misses it
		return 0, true
	}
	if len(args) < 4 || args[1] != helper {
		return 0, false
	}
	var o order
	err := json.Unmarshal([]byte(args[2]), &o)
	if err == nil {
		err = enter(o.Rules, o.Parent, args[3], args[3:], environ)
	}
	fmt.Fprintf(problems, "codemode: cannot run %q confined: %v\n", args[3], err)
	return failed, true
}

// Exec replaces this process by a program with these rules. It returns only if that fails; then this process must end,
// because one of its threads may have lost rights already.
func Exec(r Rules, program string, argv, environ []string) error {
	return enter(r, 0, program, argv, environ)
}

// ErrUnsupported says that this system has no way to confine a process.
var ErrUnsupported = errors.New("this system cannot confine processes: codemode does that with Landlock, on Linux")
