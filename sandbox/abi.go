package sandbox

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/tetratelabs/wazero/api"
)

// The offsets of struct shared. This pairs with guest/shim.c.
//
//	 0 now  8 mono  16 next timer (float64, ms)
//	24 status  28 out  32 out length  36 console  40 console length
//	44 console dropped  48 console max  52 args max  56 result max
//	60 out of memory  64 pending  68 too many  72 flags  76 line  80 column  84 thrown by
//	88 seed (32 bytes)  120 random state (uint64)  128 in  132 in cap
//	136 promises  140 timers  144 counter  148 main
const (
	sharedNow            = 0
	sharedMono           = 8
	sharedNextTimer      = 16
	sharedStatus         = 24
	sharedOut            = 28
	sharedOutLen         = 32
	sharedConsole        = 36
	sharedConsoleLen     = 40
	sharedConsoleDropped = 44
	sharedConsoleMax     = 48
	sharedArgsMax        = 52
	sharedResultMax      = 56
	sharedOutOfMemory    = 60
	sharedPending        = 64
	sharedTooMany        = 68
	sharedFlags          = 72
	sharedLine           = 76
	sharedColumn         = 80
	sharedThrownBy       = 84
	sharedSeed           = 88
	sharedIn             = 128
	sharedInCap          = 132
	sharedPromises       = 136
	sharedTimers         = 140
	sharedCounter        = 144
	sharedMain           = 148
	sharedSize           = 152
)

// What the guest puts into status.
const (
	statusWaiting = iota
	statusReturned
	statusReturnedUndefined
	statusThrew
	statusRefused
	statusTooLarge
)

// How the program itself has ended.
const (
	mainRuns = iota
	mainReturned
	mainThrew
)

// Commands of the host to cm_do.
const (
	doBuffer = iota
	doStart
	doSettle
	doPump
	doRest
	doNames
)

// How doSettle settles a call.
const (
	settleValue = iota
	settleUndefined
	settleError
	settlePump = 4 // and then run the program
)

// What codemode_call returns instead of an id.
const (
	callTooMany = -1
	callEnded   = -2
	callNoRoom  = -3
)

const (
	flagBigIntegers = 1
	flagSession     = 2
)

var errOutOfBounds = errors.New("the guest gave an address outside its memory")

// shared is the guest's struct shared. Its address comes from the snapshot's guest before any program ran, and the host
// then checks it against the memory.
type shared struct {
	mem  api.Memory
	addr uint32
}

func (s shared) uint32(offset uint32) uint32 {
	v, _ := s.mem.ReadUint32Le(s.addr + offset)
	return v
}

func (s shared) setUint32(offset, v uint32) { s.mem.WriteUint32Le(s.addr+offset, v) }

func (s shared) float64(offset uint32) float64 {
	v, _ := s.mem.ReadFloat64Le(s.addr + offset)
	return v
}

func (s shared) setFloat64(offset uint32, v float64) { s.mem.WriteFloat64Le(s.addr+offset, v) }

func (s shared) write(offset uint32, p []byte) { s.mem.Write(s.addr+offset, p) }

// bytes copies the guest's data at (ptr, n); both come from the struct.
func (s shared) bytes(ptrOffset, lenOffset uint32, limit int) ([]byte, error) {
	n := s.uint32(lenOffset)
	if n == 0 {
		return nil, nil
	}
	if uint64(n) > uint64(limit) {
		return nil, errOutOfBounds
	}
	p, ok := s.mem.Read(s.uint32(ptrOffset), n)
	if !ok {
		return nil, errOutOfBounds
	}
	return append(make([]byte, 0, n), p...), nil
}

// readConsole parses the console's records: a level byte, the length as a little-endian uint32, the text. It stops at
// the first record that does not fit, and returns the rest.
func readConsole(p []byte) (lines []Line, rest []byte) {
	levels := [...]string{"log", "info", "warn", "error", "debug"}
	text := string(p) // of all lines
	for len(p) >= 5 {
		level, n := int(p[0]), binary.LittleEndian.Uint32(p[1:])
		if level >= len(levels) || uint64(n) > uint64(len(p)-5) {
			break
		}
		lines = append(lines, Line{Level: levels[level], Text: text[5 : 5+n]})
		p, text = p[5+n:], text[5+n:]
	}
	return lines, p
}

// clampUint32 is for limits that the guest holds as uint32.
func clampUint32(n int) uint32 {
	return uint32(min(max(n, 0), math.MaxInt32))
}
