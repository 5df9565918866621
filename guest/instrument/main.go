// Command instrument makes every loop of a finished WebAssembly module report in.
//
//	go run ./guest/instrument -in raw.wasm -out quickjs.wasm -skip JS_CallInternal -bulk memmove,memset -strip -stats
//
// It is the last step of building the guest. Many loops of QuickJS's C code never check its interrupt handler, and
// wazero cannot interrupt machine code: without this command, reversing an array-like of length 2**53-1 would occupy a
// thread for ever and make the garbage collector of the whole process wait for it. At the head of each loop, the
// rewritten module decrements a global that it exports as codemode_fuel. The loop head that takes it to zero resets it
// to -every and calls the imported codemode_poll, where the host stops the guest by panicking. The guest ignores an i32
// result of codemode_poll.
//
// # What the host may rely on
//
//   - Nothing in the guest can write codemode_fuel, because that global did not exist when the guest's code was
//     compiled.
//   - With codemode_fuel at k > 0 the k-th loop head from now polls, afterwards every -every-th one. At zero or less the
//     next one polls. (Only the smallest int32, which wraps round, does not count as less.)
//   - The counter is full again before the poll, so that a poll may call back into the guest. A value that the poll
//     writes to codemode_fuel persists.
//   - Loops in the start function and in constructors poll as well: the guest calls the host during instantiation.
//
// # What does not report in
//
//   - The functions named with -skip. They must poll by themselves, as JS_CallInternal does.
//   - Recursion without a loop. The stack bounds its depth, not its time.
//   - memory.copy, memory.fill and memory.init: each runs natively in one go. One takes a few milliseconds at 64 MiB.
//     But an interpreter that checks its handler every 10,000 operations can execute as many in between; a test took 8
//     s. -bulk names the functions that may contain them, and one elsewhere is an error: guest/mem.c uses them on short
//     pieces, in a loop. Table instructions end with the table.
//
// # What is changed
//
// The command appends the global and its export, so that no index moves. The code that it inserts into a loop is
// self-contained, so that no branch depth changes. All else stays byte for byte, except that -strip omits custom
// sections. The same input gives the same output. Without -strip, DWARF sections stay as well and no longer match the
// code: then an engine prints wrong source lines.
//
// A section or an instruction that this command does not know is an error, because it could hide a loop. It knows
// WebAssembly 1.0, sign extension, saturating conversions, multi-value, bulk memory and reference types; not SIMD,
// threads, exceptions, or tail calls, with which one can loop without a loop. It decodes; the engine validates.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 1 if it cannot instrument the module (then it writes nothing), 2 for wrong flags.
func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("instrument", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", "", "read this `module`")
	out := flags.String("out", "", "write this `module`")
	every := flags.Int("every", 100_000, "poll each time this `many` loop heads were passed")
	stats := flags.Bool("stats", false, "print what was done")
	flags.BoolVar(&o.strip, "strip", false, "leave the name section and all other custom sections out")
	flags.Func("skip", "leave the loops of this `function` alone; may be repeated", func(name string) error {
		o.skip = append(o.skip, name)
		return nil
	})
	flags.Func("bulk", "only these `functions`, separated by commas, may have memory.copy, memory.fill or memory.init",
		func(names string) error {
			o.bulk = strings.Split(names, ",")
			return nil
		})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // flag has printed the reason
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "instrument: unexpected argument %q\n", flags.Arg(0))
		return 2
	case *in == "" || *out == "":
		fmt.Fprintln(stderr, "instrument: both -in and -out are needed")
		return 2
	case *every < 1 || *every > math.MaxInt32:
		fmt.Fprintf(stderr, "instrument: -every %d is not between 1 and %d\n", *every, math.MaxInt32)
		return 2
	}
	o.every = int32(*every)

	wasm, err := os.ReadFile(*in)
	if err != nil {
		fmt.Fprintf(stderr, "instrument: %v\n", err)
		return 1
	}
	instrumented, done, err := instrument(wasm, o)
	if err != nil {
		fmt.Fprintf(stderr, "instrument: %s: %v\n", *in, err)
		return 1
	}
	if err := os.WriteFile(*out, instrumented, 0o644); err != nil {
		fmt.Fprintf(stderr, "instrument: %v\n", err)
		return 1
	}
	if *stats {
		fmt.Fprintln(stdout, done)
	}
	return 0
}
