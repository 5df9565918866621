// Command instrument makes every loop of a finished WebAssembly module report in.
//
//	go run ./guest/instrument -in raw.wasm -out quickjs.wasm -skip JS_CallInternal -bulk memmove,memset -strip -stats
//
// It is the last step of building the guest. Many loops of QuickJS's C code never look at its interrupt handler, and
// wazero cannot interrupt machine code: without this, reversing an array-like of length 2**53-1 would hold a thread
// for ever and make the garbage collector of the whole process wait for it. The rewritten module counts down, at the
// head of each loop, a global that it exports as codemode_fuel. The loop head that takes it to zero sets it to -every
// again and calls the imported codemode_poll, where the host stops the guest by panicking. If codemode_poll returns
// an i32, nobody looks at it.
//
// # What the host may rely on
//
//   - Nothing in the guest can write codemode_fuel, as its code was compiled before that global existed.
//   - With codemode_fuel at k > 0 the k-th loop head from now polls, afterwards every -every-th one. At zero or less
//     the next one polls. (Only the smallest int32, which wraps round, does not count as less.)
//   - The counter is full again before the poll, so that a poll may call back into the guest, and what the poll
//     writes to codemode_fuel stays.
//   - Loops in the start function and in constructors poll as well: the host is called while it instantiates.
//
// # What does not report in
//
//   - The functions named with -skip. They must poll by themselves, as JS_CallInternal does.
//   - Recursion without a loop. The stack bounds its depth, not its time.
//   - memory.copy, memory.fill and memory.init, each of which runs natively in one go. One of them takes a few
//     milliseconds at 64 MiB; but an interpreter that looks at its handler every 10,000 operations can do as many in
//     between, which was seen to take 8 s. -bulk names the functions that may have them, and an instruction elsewhere
//     is an error: guest/mem.c uses them on short pieces, in a loop. Table instructions end with the table.
//
// # What is changed
//
// The global and its export are appended, so that no index moves. What is inserted into a loop is closed in itself,
// so that no branch depth moves. All else stays byte for byte, but for -strip, which leaves custom sections out. The
// same input gives the same output. Without -strip, DWARF sections stay as well and no longer fit the code: source
// lines that an engine prints are wrong then.
//
// A section or an instruction that this command does not know is an error, as a loop could hide behind it. It knows
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

// run returns the exit code: 1 when the module cannot be instrumented, and nothing is written then; 2 for wrong flags.
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
	flags.Func("bulk", "only these `functions`, separated by commas, may have memory.copy, memory.fill or memory.init", func(names string) error {
		o.bulk = strings.Split(names, ",")
		return nil
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // flag has printed why
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
