package cli

import "context"

// Typed waits for what a person types, or for the end of ctx, whose cause it returns then. Ctrl-C only ends ctx, and
// nothing stops a read of a terminal: that read ends with the process.
func Typed[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type input struct {
		value T
		err   error
	}
	done := make(chan input, 1)
	go func() {
		value, err := read()
		done <- input{value, err}
	}()
	select {
	case in := <-done:
		return in.value, in.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
